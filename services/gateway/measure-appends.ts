import { DomainError } from '../../shared/errors/domain-error.ts'
import type { EventLog, NewRecord } from '../../shared/event-log/event-log.ts'
import { DURATION_BUCKETS, type Metrics } from '../../shared/metrics/metrics.ts'

type Appending = Pick<EventLog, 'append' | 'partitions'>

/** Wraps the event log so that its appends are measured. */
export function measureAppends(metrics: Metrics, eventLog: Appending): Appending {
  const took = metrics.histogram(
    'tally_event_log_append_duration_seconds',
    'How long an append took until it was durable.',
    DURATION_BUCKETS,
  )()
  const failures = metrics.counter('tally_event_log_append_failures_total', 'Appends that failed.', ['code'])
  const failed = { overloaded: failures('overloaded'), unavailable: failures('unavailable') }
  const waiting = metrics.gauge('tally_event_log_appends_waiting', 'Appends that are not durable yet.')
  const waitingBytes = metrics.gauge(
    'tally_event_log_appends_waiting_bytes',
    'Bytes of the records of appends that are not durable yet.',
  )
  const underWay = { appends: 0, bytes: 0 }
  metrics.beforeScrape(() => {
    waiting.set([], underWay.appends)
    waitingBytes.set([], underWay.bytes)
  })
  return {
    partitions: eventLog.partitions,
    async append(records) {
      const bytes = bytesOf(records)
      const startedAt = performance.now()
      underWay.appends++
      underWay.bytes += bytes
      try {
        await eventLog.append(records)
        took((performance.now() - startedAt) / 1_000)
      } catch (err) {
        failed[err instanceof DomainError && err.code === 'overloaded' ? 'overloaded' : 'unavailable']()
        throw err
      } finally {
        underWay.appends--
        underWay.bytes -= bytes
      }
    },
  }
}

const bytesOf = (records: readonly NewRecord[]): number =>
  records.reduce((sum, { value }) => sum + value.length, 0)
