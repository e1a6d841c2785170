import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { isForGateway } from '../../services/standalone/dispatch.ts'
import { endAfterRest, isUnread } from '../../shared/http/end-answer.ts'

/** A proxy in front of separate services: one base URL for gateway and API, as in production. */
export interface DispatchingProxy {
  url: string
  close(): Promise<void>
}

/** Headers of one connection, which a proxy does not forward. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding'])

/** More than the services accept, so that the services refuse, not the proxy. */
const HEADER_BYTES_MAX = 64 * 1_024

/**
 * @param gateway returns the target of reports and corrections; called for each request, because services restart on
 *   other ports
 * @param api returns the target of all other requests
 */
export async function dispatchingProxy(gateway: () => string, api: () => string): Promise<DispatchingProxy> {
  const agent = new Agent({ keepAlive: true })
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (req, res) => {
    pass(req, res, isForGateway(req.method, req.url) ? gateway() : api(), agent)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      agent.destroy()
      await closed
    },
  }
}

function pass(req: IncomingMessage, res: ServerResponse, target: string, agent: Agent): void {
  const { hostname, port } = new URL(target)
  const onward = request({
    hostname,
    port,
    path: req.url, // unchanged, because a proxy must not correct it
    method: req.method,
    headers: withoutConnection(req),
    agent,
  })
  let answered = false
  onward.on('response', (answer) => {
    answered = true
    const isEarly = isUnread(req)
    res.writeHead(answer.statusCode ?? 502, {
      ...withoutConnection(answer),
      ...(isEarly ? { connection: 'close' } : {}),
    })
    answer.pipe(res, { end: !isEarly })
    answer.on('error', () => res.destroy())
    if (isEarly)
      answer.once('end', () => {
        req.unpipe(onward)
        endAfterRest(res)
      })
  })
  onward.on('error', () => {
    req.unpipe(onward)
    if (answered) return // by a service that did not read the rest of the request
    req.resume()
    res.writeHead(502, { 'Content-Type': 'text/plain' }).end('the service behind the proxy is away')
  })
  res.on('close', () => {
    if (!res.writableFinished) onward.destroy() // the client has disconnected
  })
  req.pipe(onward)
}

/** The headers with their original names and all their values. */
function withoutConnection({ headersDistinct }: IncomingMessage): Record<string, string[] | string> {
  const kept: Record<string, string[] | string> = {}
  for (const [name, values = []] of Object.entries(headersDistinct))
    if (!OF_CONNECTION.has(name)) kept[name] = values.length === 1 ? (values[0] ?? '') : values
  return kept
}
