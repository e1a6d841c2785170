import { type EventLog, LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import { MICROS_PER_SECOND } from '../../shared/time/microsecond-clock.ts'

/** Shows how far the loaders are behind the event log. A value that cannot be read is not shown. */
export function watchLag(
  metrics: Metrics,
  eventLog: Pick<EventLog, 'lag' | 'lowestUnread'>,
  log: Logger,
): void {
  const behind = metrics.gauge(
    'tally_event_log_lag_records',
    'Records of a partition that no loader has committed yet.',
    ['partition'],
  )
  const unread = metrics.gauge(
    'tally_event_log_unread_records',
    'Records of all partitions that no loader has committed yet.',
  )
  const oldest = metrics.gauge(
    'tally_event_log_oldest_unread_seconds',
    'The time since the acceptance of the oldest record that no loader has committed; 0 when there is none.',
  )
  metrics.beforeScrape(async () => {
    try {
      const [lags, lowest] = await Promise.all([
        eventLog.lag(LOADER_GROUP),
        eventLog.lowestUnread(LOADER_GROUP),
      ])
      const records = lags.map(({ partition, committed, end }) => ({
        partition,
        count: Math.max(0, end - committed),
      }))
      behind.clear()
      for (const { partition, count } of records) behind.set([String(partition)], count)
      unread.set(
        [],
        records.reduce((sum, { count }) => sum + count, 0),
      )
      const now = Date.now() / 1_000
      oldest.set([], lowest === undefined ? 0 : Math.max(0, now - lowest / MICROS_PER_SECOND))
    } catch (err) {
      for (const gauge of [behind, unread, oldest]) gauge.clear()
      log.warn({ err }, 'could not read how far the loaders are behind the event log')
    }
  })
}
