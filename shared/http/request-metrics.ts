import type { ServerResponse } from 'node:http'
import { type Add, DURATION_BUCKETS, type Metrics } from '../metrics/metrics.ts'

/**
 * Counts a request, and measures its time from now, or from an earlier time of `performance`, to the end of its answer.
 */
type ObserveRequest = (res: ServerResponse, startedAt?: number) => void

/** Makes the metrics of a route's requests. It is called once for each route, when the process starts. */
export type RequestMetrics = (route: string) => ObserveRequest

/** The status for a request whose client closed the connection before the answer began. Proxies log the same status. */
const GONE = 499

/** Metrics of the HTTP requests of a process. */
export function requestMetrics(metrics: Metrics): RequestMetrics {
  const counts = metrics.counter('tally_http_requests_total', 'Requests by route and status.', [
    'route',
    'status',
  ])
  const durations = metrics.histogram(
    'tally_http_request_duration_seconds',
    'How long requests took, from their headers to the end of their answer.',
    DURATION_BUCKETS,
    ['route'],
  )
  return (route) => {
    const took = durations(route)
    const byStatus = new Map<number, Add>()
    return (res, startedAt = performance.now()) => {
      res.once('close', () => {
        took((performance.now() - startedAt) / 1_000)
        const status = res.headersSent ? res.statusCode : GONE
        let count = byStatus.get(status)
        if (count === undefined) byStatus.set(status, (count = counts(route, String(status))))
        count()
      })
    }
  }
}
