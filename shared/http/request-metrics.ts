import type { ServerResponse } from 'node:http'
import { type Add, DURATION_BUCKETS, type Metrics } from '../metrics/metrics.ts'

/** Counts and times a request from now, or from an earlier time of `performance`, until its answer is sent. */
type ObserveRequest = (res: ServerResponse, startedAt?: number) => void

/** Metrics of requests, bound to a route when the app is wired. */
export type RequestMetrics = (route: string) => ObserveRequest

/** The status for a client that went away before it had an answer, as proxies log it. */
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
