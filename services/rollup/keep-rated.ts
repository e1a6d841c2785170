import { type ClickHouse, forLongReads } from '../../shared/clickhouse/clickhouse.ts'
import { ratedPeriodRepository, ratingRunRepository } from '../../shared/clickhouse/rated-periods.ts'
import { ratedUsageReader } from '../../shared/clickhouse/usage/rated-usage.ts'
import { rawReadSemaphore } from '../../shared/clickhouse/usage/raw-read-semaphore.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { repeat } from '../../shared/lifecycle/repeat.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { DURATION_BUCKETS, type Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { isElsewhere, runExclusively } from '../../shared/postgres/locks/run-exclusively.ts'
import { ratePeriod } from '../../shared/previews/rate-period.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import type { RollupPoint } from './crash-points.ts'
import { contractRater } from './rate-contracts.ts'

export interface KeepRatedDeps {
  pool: Pool
  clickhouse: ClickHouse
  /** Returns a time. ClickHouse has all events that were accepted before this time. */
  listedUpTo: () => Promise<Micros>
  metrics: Metrics
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<RollupPoint>
}

const JOB = 'the rating of contracts'
/** How long after midnight (UTC) the run of a day is due, in seconds. */
const OFFSET_S = 600
/** How long after a start the first run begins. It waits because the start itself has much to do. */
const FIRST_MS = 60_000
const LOOK_MS = 1_000
/** The wait after a failed run, and while another process rates. */
const AGAIN_AFTER_MS = 60_000

/**
 * Rates the contracts of all companies for analysts, once in `everyS` seconds, until it is closed. Of several processes
 * one does so at a time. A run that was missed is made up for.
 */
export function keepRated(
  { pool, clickhouse, listedUpTo, metrics, reached = () => undefined, ...parts }: KeepRatedDeps,
  everyS: number,
): Closeable {
  const log = parts.log.child({ part: 'rating' })
  const { onRated, onFailed } = ratingMetrics(metrics)
  const patient = forLongReads(clickhouse)
  const usage = ratedUsageReader(patient, rawReadSemaphore())
  const rate = contractRater({
    pool,
    rated: ratedPeriodRepository(patient),
    runs: ratingRunRepository(patient),
    ratePeriod: ratePeriod({ pool, usage, listedUpTo }),
    listedUpTo,
    reached,
    onRated,
  })
  let doneFor = -Infinity
  let notBefore = -Infinity
  const round = async (signal: AbortSignal) => {
    const dueAt = lastDue(Date.now() / 1_000, everyS)
    if (dueAt <= doneFor || performance.now() < notBefore) return
    const run = { dueAt, until: dueAt + everyS, signal }
    if (await runExclusively(pool, JOB, () => rate(run))) doneFor = dueAt
  }
  return repeat(
    JOB,
    Math.min(LOOK_MS, everyS * 1_000),
    round,
    (err, signal) => {
      if (signal.aborted) return
      notBefore = performance.now() + Math.min(AGAIN_AFTER_MS, everyS * 1_000)
      if (isElsewhere(err)) return
      onFailed()
      log.warn({ err: loggableError(err) }, 'could not rate all contracts for analysts, trying again')
    },
    Math.min(FIRST_MS, everyS * 1_000),
  )
}

/**
 * The last time at which a run was due. All are Unix seconds.
 *
 * @internal
 */
export const lastDue = (now: number, everyS: number): number => {
  const offset = OFFSET_S % everyS
  return Math.floor((now - offset) / everyS) * everyS + offset
}

function ratingMetrics(metrics: Metrics) {
  const took = metrics.histogram(
    'tally_rating_duration_seconds',
    'The time to rate one period of a contract for analysts, and to store it.',
    DURATION_BUCKETS,
  )()
  const failures = metrics.counter(
    'tally_rating_failures_total',
    'Runs of the rating of contracts for analysts that failed in part and are repeated.',
  )()
  return {
    onRated: (ms: number) => {
      took(ms / 1_000)
    },
    onFailed: () => {
      failures()
    },
  }
}
