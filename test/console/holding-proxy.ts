import { once } from 'node:events'
import { createServer, request } from 'node:http'

/** A proxy that never answers requests to one path. */
export interface HoldingProxy {
  url: string
  /** How many requests it holds, or held. */
  readonly held: number
  /** How many of them their client gave up. */
  readonly givenUp: number
  close(): Promise<void>
}

/** @param path the end of the path whose requests are held */
export async function holdingProxy(target: string, path: string): Promise<HoldingProxy> {
  let [held, givenUp] = [0, 0]
  const server = createServer((req, res) => {
    if (req.method === 'POST' && req.url?.endsWith(path) === true) {
      held++
      req.resume()
      res.on('close', () => givenUp++)
      return
    }
    const { method, headers } = req
    const passed = request(`${target}${req.url ?? ''}`, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    passed.on('error', () => res.destroy())
    req.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    get held() {
      return held
    },
    get givenUp() {
      return givenUp
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
