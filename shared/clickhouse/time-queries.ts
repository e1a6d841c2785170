import { DURATION_BUCKETS, type Metrics } from '../metrics/metrics.ts'
import { type ClickHouse, withMembers } from './clickhouse.ts'

/**
 * A client that measures how long its queries take, from the start of their turn until their first rows arrive. Tally's
 * answers are small, so the rows after the first ones take little time.
 */
export function timeQueries(metrics: Metrics, client: ClickHouse): ClickHouse {
  const took = metrics.histogram(
    'tally_clickhouse_query_duration_seconds',
    'How long a query of a request, or of usage that is read ahead, took in ClickHouse.',
    DURATION_BUCKETS,
    ['outcome'],
  )
  const waiting = metrics.gauge('tally_clickhouse_waiting', 'Queries of requests that wait for their turn.', [
    'kind',
  ])
  metrics.beforeScrape(() => {
    waiting.set(['short'], client.turns.mine.queued())
    waiting.set(['long'], client.turns.long.queued())
  })
  const [ok, failed] = [took('ok'), took('failed')]
  const query = async (...args: Parameters<ClickHouse['query']>) => {
    const startedAt = performance.now()
    try {
      const result = await client.query(...args)
      ok((performance.now() - startedAt) / 1_000)
      return result
    } catch (err) {
      failed((performance.now() - startedAt) / 1_000)
      throw err
    }
  }
  return withMembers(client, { query })
}
