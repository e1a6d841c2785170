import express, { type Express, type Response } from 'express'
import type { Probes } from './probes.ts'

/** Adds further routes to an admin port. */
export type AddRoutes = (app: Express) => void

/** The HTTP service of a process's admin port: probes for whoever can reach it. */
export function adminApp({ isLive, isReady }: Probes, ...more: readonly AddRoutes[]): Express {
  const app = express()
  app.disable('x-powered-by')
  app.get('/livez', (_req, res) => {
    answer(res, isLive(), 'stuck')
  })
  app.get('/readyz', async (_req, res) => {
    answer(res, await isReady(), 'not ready')
  })
  for (const add of more) add(app)
  return app
}

function answer(res: Response, well: boolean, otherwise: string): void {
  res
    .status(well ? 200 : 503)
    .type('text/plain')
    .send(well ? 'ok' : otherwise)
}
