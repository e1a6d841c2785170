import type { Metrics } from '../metrics/metrics.ts'
import type { AddRoutes } from './admin-app.ts'

/** Adds the metrics of the process to its admin port, in Prometheus' text format. */
export const addMetrics =
  (metrics: Metrics): AddRoutes =>
  (app) => {
    app.get('/metrics', async (_req, res) => {
      const { contentType, text } = await metrics.scrape()
      res.set('Content-Type', contentType).send(text)
    })
  }
