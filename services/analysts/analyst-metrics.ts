import { DURATION_BUCKETS, type Metrics } from '../../shared/metrics/metrics.ts'

/** The metrics of queries at the endpoint. */
export interface AnalystMetrics {
  /** @param code ClickHouse's code of the error; 0 for a success */
  answered(user: string, code: number, seconds: number): void
}

/** @param waiting the number of queries that wait for their turn */
export function analystMetrics(metrics: Metrics, waiting: () => number): AnalystMetrics {
  const queries = metrics.counter('tally_analyst_queries_total', 'Queries of analysts.', ['user', 'code'])
  const took = metrics.histogram(
    'tally_analyst_seconds',
    'How long queries of analysts took, including the wait for their turn.',
    DURATION_BUCKETS,
  )()
  const gauge = metrics.gauge('tally_analyst_waiting', 'Queries of analysts that wait for their turn.')
  metrics.beforeScrape(() => {
    gauge.set([], waiting())
  })
  return {
    answered(user, code, seconds) {
      queries(user, String(code))()
      took(seconds)
    },
  }
}
