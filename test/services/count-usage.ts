import { usageCounter } from '../../services/rollup/count-usage.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { testLog } from '../support/log.ts'

const never = new AbortController().signal

/**
 * Counts every month, like the rollup service.
 *
 * @param afterS counts usage that was accepted at least this many seconds ago
 */
export async function countAllUsage(pool: Pool, clickhouse: ClickHouse, afterS: number): Promise<void> {
  const metrics = openMetrics()
  const counter = usageCounter(
    { pool, clickhouse, metrics, log: testLog },
    { firstAfterMs: 0, everyS: 3_600, afterS },
  )
  // The gauge is set at the end.
  do await counter.step(never)
  while (/^tally_usage_missing_events Nan$/m.test((await metrics.scrape()).text))
}
