import type { RequestListener } from 'node:http'
import { type Closeable, closeAll } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { type HttpServer, type HttpServerOptions, listen } from './http-server.ts'

/** The longest time that open requests may take to finish. Stopping the process may take ten seconds in all. */
const CLOSE_REQUESTS_MS = 4_000

/** The HTTP servers of a process. They are opened one by one, and closed together before the parts that they use. */
export interface Servers {
  open(handler: RequestListener, options: Omit<HttpServerOptions, 'closeTimeoutMs'>): Promise<HttpServer>
}

/** @param opened the servers are added here. The parts that they use must be in the list already */
export function openServers(opened: Closeable[], log: Logger): Servers {
  const all: HttpServer[] = []
  opened.push({
    name: 'HTTP servers',
    async close() {
      await Promise.all(all.map((server) => closeAll([server], log)))
    },
  })
  return {
    async open(handler, options) {
      const server = await listen(handler, { ...options, closeTimeoutMs: CLOSE_REQUESTS_MS })
      all.push(server)
      return server
    },
  }
}
