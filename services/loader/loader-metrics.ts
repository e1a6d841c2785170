import { DURATION_BUCKETS, type Metrics } from '../../shared/metrics/metrics.ts'
import { MICROS_PER_SECOND } from '../../shared/time/microsecond-clock.ts'
import type { Batch } from './gather-batch.ts'

/** The steps that the loader repeats until they succeed. */
export type LoaderStep = 'read' | 'insert' | 'dead_letter' | 'commit'

/** The loader's metrics. */
export interface LoaderMetrics {
  /** Call this once a batch is in ClickHouse. */
  stored(batch: Batch): void
  inserted(seconds: number): void
  deadLettered(): void
  failed(step: LoaderStep): void
}

const ROW_BUCKETS = [1, 10, 100, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000]
const BYTE_BUCKETS = [1e3, 1e4, 1e5, 1e6, 4e6, 16e6, 32e6, 64e6]
const FRESHNESS_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400]

export function loaderMetrics(metrics: Metrics): LoaderMetrics {
  const rows = metrics.histogram('tally_loader_batch_rows', 'Rows of a batch.', ROW_BUCKETS)()
  const bytes = metrics.histogram('tally_loader_batch_bytes', 'Bytes of a batch.', BYTE_BUCKETS)()
  const loaded = metrics.counter('tally_loader_rows_total', 'Rows that were stored.')()
  const took = metrics.histogram(
    'tally_loader_insert_duration_seconds',
    'How long an insert into ClickHouse took.',
    DURATION_BUCKETS,
  )()
  const freshness = metrics.histogram(
    'tally_loader_freshness_seconds',
    'The time from the acceptance of an event until its row was stored, for the oldest and newest event of a batch.',
    FRESHNESS_BUCKETS,
    ['event'],
  )
  const [oldest, newest] = [freshness('oldest'), freshness('newest')]
  const dead = metrics.counter('tally_loader_dead_letters_total', 'Lines that could not be counted.')()
  const failures = metrics.counter('tally_loader_failures_total', 'Failed attempts, which are repeated.', [
    'step',
  ])
  const failed = {
    read: failures('read'),
    insert: failures('insert'),
    dead_letter: failures('dead_letter'),
    commit: failures('commit'),
  }
  return {
    stored(batch) {
      rows(batch.rows)
      bytes(batch.bytes)
      loaded(batch.rows - batch.rejected.length)
      const now = Date.now() * 1_000
      const age = (at: number) => Math.max(0, now - at) / MICROS_PER_SECOND
      oldest(age(batch.oldestAt))
      newest(age(batch.newestAt))
    },
    inserted: took,
    deadLettered: () => {
      dead()
    },
    failed: (step) => {
      failed[step]()
    },
  }
}
