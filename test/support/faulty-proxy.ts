import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'

/**
 * The fate of a request: the proxy forwards it; cuts its connection before Tally gets it; cuts its connection after
 * Tally has processed it, so that the answer is lost; or gives another answer.
 */
export type Fate =
  'pass' | 'cut before' | 'cut after' | { status: number; headers?: Record<string, string>; body?: string }

export interface FaultyProxy {
  url: string
  /** The target of requests. A test may change it, for example when Tally restarts on another port. */
  target: string
  /** All requests, in order. */
  seen: { method: string; path: string; body: string }[]
  close(): Promise<void>
}

/** Enough for a request to ClickHouse, which has its parameters in the URL. */
const HEADER_BYTES_MAX = 1_024 * 1_024

/**
 * Starts a proxy between a client and Tally that fails like networks and overloaded servers.
 *
 * @param fateOf called for each request; n counts the requests of this method and path from 0
 */
export async function faultyProxy(
  target: string,
  fateOf: (method: string, path: string, n: number) => Fate | Promise<Fate>,
): Promise<FaultyProxy> {
  const proxy: FaultyProxy = { url: '', target, seen: [], close: () => close(server) }
  const counts = new Map<string, number>()
  const handle = async (req: IncomingMessage, res: ServerResponse) => {
    const body = await textOf(req)
    const { method = '', url: path = '' } = req
    const n = counts.get(`${method} ${path}`) ?? 0
    counts.set(`${method} ${path}`, n + 1)
    proxy.seen.push({ method, path, body })
    const fate = await fateOf(method, path, n)
    if (fate === 'cut before') req.socket.destroy()
    else if (typeof fate === 'object') res.writeHead(fate.status, fate.headers).end(fate.body ?? '')
    else {
      const answer = await forward(proxy.target, req, body)
      const bytes = await bytesOf(answer)
      if (fate === 'cut after') req.socket.destroy()
      else {
        const type = answer.headers['content-type'] ?? 'text/plain'
        res.writeHead(answer.statusCode ?? 500, { 'Content-Type': type }).end(bytes)
      }
    }
  }
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (req, res) => {
    handle(req, res).catch(() => req.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  proxy.url = `http://127.0.0.1:${port}`
  return proxy
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

const textOf = async (stream: IncomingMessage): Promise<string> => (await bytesOf(stream)).toString()

const bytesOf = async (stream: IncomingMessage): Promise<Buffer> =>
  Buffer.concat((await stream.toArray()) as Buffer[])

function forward(target: string, req: IncomingMessage, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method, headers } = req
    const onward = request(new URL(req.url ?? '/', target), {
      method,
      headers: { ...headers, connection: 'close' },
    })
    onward.on('response', resolve)
    onward.on('error', reject)
    onward.end(body)
  })
}
