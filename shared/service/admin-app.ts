import express, { type Express, type Response } from 'express'
import { setCommonHeaders } from '../http/common-headers.ts'
import { errorResponder } from '../http/error-responder.ts'
import { HttpError } from '../http/http-error.ts'
import { requireHost } from '../http/require-host.ts'
import type { Logger } from '../logging/logger.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Probes } from './probes.ts'

export interface AdminAppOptions {
  probes: Probes
  metrics: Metrics
  /** ADMIN_HOST: a host name that requests may use. */
  host: string
  log: Logger
}

/**
 * The HTTP service of a process's admin port: probes, and metrics in Prometheus' text format, for anyone who can reach
 * the port. It requires no key. Therefore it checks the host name of requests.
 */
export function adminApp({ probes, metrics, host, log }: AdminAppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.use((_req, res, next) => {
    setCommonHeaders(res)
    next()
  }, requireHost(host))
  app.get('/livez', (_req, res) => {
    answer(res, probes.isLive(), 'stuck')
  })
  app.get('/readyz', async (_req, res) => {
    answer(res, await probes.isReady(), 'not ready')
  })
  app.get('/metrics', async (_req, res) => {
    const { contentType, text } = await metrics.scrape()
    res.set('Content-Type', contentType).send(text)
  })
  app.use(() => {
    throw new HttpError(404, 'not found')
  })
  app.use(errorResponder(log))
  return app
}

function answer(res: Response, well: boolean, otherwise: string): void {
  res
    .status(well ? 200 : 503)
    .type('text/plain')
    .send(well ? 'ok' : otherwise)
}
