import type { RequestListener } from 'node:http'
import { type Closeable, closeAll } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { type HttpServer, type HttpServerOptions, listen } from './http-server.ts'

/** How long open requests may take to finish; stopping may take ten seconds in all. */
const CLOSE_REQUESTS_MS = 4_000

/** The HTTP servers of a process: opened one after the other, and closed together, before everything they use. */
export interface Servers {
  open(handler: RequestListener, options: Omit<HttpServerOptions, 'closeTimeoutMs'>): Promise<HttpServer>
}

/** @param opened gets the servers, after everything they use */
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
