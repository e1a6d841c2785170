import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { StartupError } from '../errors/startup-error.ts'
import type { Closeable } from '../lifecycle/close-all.ts'
import { answerText } from './answer-text.ts'
import { noteExpectation } from './expect-continue.ts'
import { putInOriginForm } from './origin-form.ts'
import { plainAnswer, shareConnections } from './share-connections.ts'

export interface HttpServerOptions extends ServerOptions {
  host: string
  port: number
  /** The setting of the port, for the message when the port is taken. */
  portSetting: string
  /** The setting of the host, if there is one. */
  hostSetting?: string
}

interface ServerOptions {
  /** The server's name in messages. */
  name: string
  /** The longest time that open requests may take to finish when the server closes. */
  closeTimeoutMs: number
  /** The maximum number of bytes of a request before its body. */
  headerBytesMax?: number
  connectionsMax?: number
  /** Whether a new connection takes the place of an idle one when no more are taken. */
  idleGiveWay?: boolean
  /** The longest time that a request may take to arrive. */
  requestTimeoutMs?: number
}

export interface HttpServer extends Closeable {
  /** The port on which the server listens. If port 0 was requested, the system chose it. */
  port: number
  /** Goes on serving, but ends each connection with its next answer, so that clients go elsewhere before it closes. */
  drain: () => void
}

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const CHECK_TIMEOUTS_MS = 2_000
/**
 * Longer than the 60 s of common load balancers, so that Tally does not close a connection that a load balancer is
 * about to use.
 */
const KEEP_ALIVE_MS = 65_000
const HEADER_BYTES_MAX = 16 * 1_024
const CONNECTIONS_MAX = 10_000
const REQUESTS_PER_SOCKET_MAX = 0 // no limit
const CLOSE_IDLE_EVERY_MS = 50

/**
 * Listens on a port. The time limits are shorter than Node's defaults, which let a slow client use a connection for
 * five minutes. A client that waits for `100 Continue` gets it only right before its body is read (collect-bytes.ts).
 *
 * @throws StartupError when the port is taken, or the host is not an address of this machine
 */
export async function listen(handler: RequestListener, options: HttpServerOptions): Promise<HttpServer> {
  const server = makeServer(handler, options)
  server.listen(options.port, options.host)
  try {
    await once(server, 'listening')
  } catch (err) {
    throw explain(err, options)
  }
  const address = server.address()
  return {
    name: options.name,
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    drain: () => {
      server.prependListener('request', (_req, res: ServerResponse) => {
        res.shouldKeepAlive = false
      })
    },
    close: () => closeServer(server, options.closeTimeoutMs),
  }
}

/**
 * Listens on a Unix socket, which is created now and removed when the server closes.
 *
 * @param options no file may exist at the socket's path, and the path must not be longer than the address of a socket
 *   may be
 * @throws StartupError when the socket cannot be created
 */
export async function listenOnSocket(
  handler: RequestListener,
  options: ServerOptions & { path: string },
): Promise<Closeable> {
  const { name, path, closeTimeoutMs } = options
  const server = makeServer(handler, options)
  server.listen(path)
  try {
    await once(server, 'listening')
  } catch (err) {
    throw new StartupError(`${name} cannot be made at ${path}: ${String(err)}`, { cause: err })
  }
  return { name, close: () => closeServer(server, closeTimeoutMs) }
}

function makeServer(
  handler: RequestListener,
  {
    headerBytesMax = HEADER_BYTES_MAX,
    connectionsMax = CONNECTIONS_MAX,
    idleGiveWay = false,
    requestTimeoutMs = REQUEST_TIMEOUT_MS,
  }: ServerOptions,
): Server {
  const server = createServer(
    {
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: CHECK_TIMEOUTS_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: headerBytesMax,
    },
    (req, res) => {
      if (putInOriginForm(req)) handler(req, res)
      else answerText(res, 400, 'the target of the request is neither a path nor a URL in HTTP')
    },
  )
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    noteExpectation(req, res)
    server.emit('request', req, res)
  })
  answerBrokenRequests(server, headerBytesMax)
  shareConnections(server, connectionsMax, idleGiveWay)
  server.maxRequestsPerSocket = REQUESTS_PER_SOCKET_MAX
  return server
}

async function closeServer(server: Server, closeTimeoutMs: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  // The call above closes idle connections. A connection that is still sending an answer becomes idle only later.
  const sweep = setInterval(() => {
    server.closeIdleConnections()
  }, CLOSE_IDLE_EVERY_MS)
  const timer = setTimeout(() => {
    server.closeAllConnections()
  }, closeTimeoutMs)
  await closed
  clearInterval(sweep)
  clearTimeout(timer)
}

/** Answers bytes that never become a request. Node does so, too, but without a text. */
function answerBrokenRequests(server: Server, headerBytesMax: number): void {
  const latest = new WeakMap<Duplex, { req: IncomingMessage; res: ServerResponse }>()
  server.on('request', (req, res) => {
    latest.set(req.socket, { req, res })
  })
  /**
   * Whether the error belongs to a request that already has an answer, or a part of one. An answered earlier request of
   * the connection does not count.
   */
  const isAnswered = (socket: Duplex): boolean => {
    const { req, res } = latest.get(socket) ?? {}
    return res?.headersSent === true && !(req?.complete === true && res.writableFinished)
  }
  server.on('clientError', (err, socket) => {
    const code = 'code' in err ? err.code : undefined
    if (code === 'ECONNRESET' || !socket.writable || isAnswered(socket)) {
      socket.destroy()
      return
    }
    const [status, text] =
      code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'request timed out']
        : code === 'HPE_HEADER_OVERFLOW'
          ? [431, `the request line and headers are larger than ${headerBytesMax} bytes`]
          : [400, 'this is not a request in HTTP']
    socket.end(plainAnswer(status, text))
  })
}

/** Node's codes for a host that this machine cannot listen on. */
const HOST_CODES = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'])

function explain(err: unknown, options: HttpServerOptions): StartupError {
  const { name, host, port, portSetting, hostSetting } = options
  const code = err instanceof Error && 'code' in err ? err.code : undefined
  const where = `${host}:${port}`
  if (code === 'EADDRINUSE')
    return new StartupError(
      `${name} cannot listen on ${where}, the port is taken: set ${portSetting} to another`,
    )
  if (code === 'EACCES')
    return new StartupError(`${name} may not listen on ${where}: set ${portSetting} to a port above 1023`)
  if (hostSetting !== undefined && HOST_CODES.has(String(code)))
    return new StartupError(
      `${name} cannot listen on ${where}, which is no address of this machine: set ${hostSetting} to another`,
    )
  return new StartupError(`${name} cannot listen on ${where}: ${String(err)}`, { cause: err })
}
