import { DURATION_BUCKETS, type Metrics } from '../../shared/metrics/metrics.ts'
import type { Closed } from './close-slots.ts'
import type { Recomputed } from './recompute-late.ts'

/** The steps that the rollup service repeats after a failure. */
export type RollupStep = 'build' | 'close' | 'late' | 'drop' | 'count'

/** The rollup service's metrics. */
export interface RollupMetrics {
  closed(closed: Closed, seconds: number): void
  recomputed(recomputed: Recomputed, seconds: number): void
  failed(step: RollupStep): void
}

export function rollupMetrics(metrics: Metrics): RollupMetrics {
  const slots = metrics.counter('tally_rollup_slots_total', 'Time slots that were closed.')()
  const marks = metrics.counter(
    'tally_rollup_late_marks_total',
    'Inserts of late usage whose marks were worked off.',
  )()
  const rows = metrics.counter(
    'tally_rollup_rows_read_total',
    'Rows that ClickHouse read to compute rollups. With the embedded ClickHouse, this includes the rows of other queries at the same time.',
    ['work'],
  )
  const took = metrics.histogram(
    'tally_rollup_duration_seconds',
    'The duration of rounds that had work to do.',
    DURATION_BUCKETS,
    ['work'],
  )
  const [rowsClosing, rowsLate] = [rows('close'), rows('late')]
  const [tookClosing, tookLate] = [took('close'), took('late')]
  const behind = metrics.gauge(
    'tally_rollup_behind_seconds',
    'How long ago the last closed time slot ended; readers read everything since then from the events.',
  )
  let looked: { behindS: number; at: number } | undefined
  metrics.beforeScrape(() => {
    // The value grows while rounds fail.
    if (looked !== undefined)
      behind.set([], Math.max(0, looked.behindS + (performance.now() - looked.at) / 1_000))
  })
  const failures = metrics.counter('tally_rollup_failures_total', 'Attempts that failed and are repeated.', [
    'step',
  ])
  const failed = {
    build: failures('build'),
    close: failures('close'),
    late: failures('late'),
    drop: failures('drop'),
    count: failures('count'),
  }
  return {
    closed(closed, seconds) {
      looked = { behindS: closed.now + seconds - closed.through, at: performance.now() }
      rowsClosing(closed.rowsRead)
      if (closed.slots === 0) return
      slots(closed.slots)
      tookClosing(seconds)
    },
    recomputed(recomputed, seconds) {
      if (recomputed.marks === 0) return
      marks(recomputed.marks)
      rowsLate(recomputed.rowsRead)
      tookLate(seconds)
    },
    failed: (step) => {
      failed[step]()
    },
  }
}
