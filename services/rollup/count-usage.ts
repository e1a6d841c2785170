import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { eventCountRepository } from '../../shared/clickhouse/events/event-counts.ts'
import { groupBy } from '../../shared/collections/group-by.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import { readClock } from '../../shared/postgres/core/clock.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inEveryNamespace, inNamespace } from '../../shared/postgres/core/transaction.ts'
import { retiredNamespaceRepository } from '../../shared/postgres/retired-namespaces.ts'
import { everyUsageCountRepository, usageCountRepository } from '../../shared/postgres/usage-counts.ts'
import { MICROS_PER_MS } from '../../shared/time/microsecond-clock.ts'
import { monthText, type Recount, recountUsage } from '../../shared/usage/recount-usage.ts'

export interface UsageCounterDeps {
  pool: Pool
  clickhouse: ClickHouse
  metrics: Metrics
  log: Logger
}

export interface UsageCounterOptions {
  /** How long after the start the first count begins. */
  firstAfterMs: number
  everyS: number
  /**
   * Only events that were accepted at least this long ago are counted. Younger events may not be loaded yet, but are
   * still in the event log.
   */
  afterS: number
}

/** Counts usage, a month at a time. */
export interface UsageCounter {
  /** Counts the next month if a count is due. Otherwise it does nothing. */
  step(signal: AbortSignal): Promise<void>
  /** Cancels the running statement. */
  cancel(): Promise<void>
}

/** The wait after a failed count. Slots are closed as usual during that time. */
const AGAIN_AFTER_MS = 60_000

/**
 * Counts the events of every month, and stores the numbers in PostgreSQL. When ClickHouse loses usage, a later count is
 * lower than the stored number, even when the event log no longer has that usage. Several processes may count at the
 * same time, because a stored number never decreases.
 */
export function usageCounter(
  { pool, clickhouse, metrics, log }: UsageCounterDeps,
  { firstAfterMs, everyS, afterS }: UsageCounterOptions,
): UsageCounter {
  const gauge = metrics.gauge(
    'tally_usage_missing_events',
    'Events that were counted before and are now missing in ClickHouse.',
  )
  const events = eventCountRepository(clickhouse)
  const list = () => inEveryNamespace(pool, (db) => everyUsageCountRepository(db).list())
  let dueAt = performance.now() + firstAfterMs
  let counting: AsyncGenerator<Recount[]> | undefined
  let short: Recount[] = []

  const begin = async (signal: AbortSignal) => {
    const before = ((await readClock(pool)).getTime() - afterS * 1_000) * MICROS_PER_MS
    const retired = retiredNamespaceRepository(pool)
    short = []
    return recountUsage({ counts: { list }, events, retired, signal }, before)
  }
  const end = () => {
    counting = undefined
    dueAt = performance.now() + everyS * 1_000
    const missing = short.reduce((sum, recount) => sum + recount.missing, 0)
    gauge.set([], missing)
    if (missing > 0)
      log.error(
        { missing, months: [...new Set(short.map(({ month }) => monthText(month)))] },
        'ClickHouse has lost usage that was counted before: docs/operations.md says what to do',
      )
  }
  return {
    async step(signal) {
      if (performance.now() < dueAt) return
      try {
        counting ??= await begin(signal)
        const next = await counting.next()
        if (next.done === true) {
          end()
          return
        }
        for (const [namespaceId, counts] of groupBy(next.value, (count) => count.namespaceId))
          await inNamespace(pool, namespaceId, (db) => usageCountRepository(db).save(namespaceId, counts))
        short.push(...next.value.filter(({ missing }) => missing > 0))
      } catch (err) {
        counting = undefined // the next call begins from the first month
        dueAt = performance.now() + AGAIN_AFTER_MS
        throw err
      }
    },
    cancel: () => events.cancel(),
  }
}
