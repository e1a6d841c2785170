import { type ClickHouse, forLongReads } from '../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
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
import { ratePeriods } from '../../shared/previews/rate-period.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import type { RollupPoint } from './crash-points.ts'
import { type ChangedContractRater, changedContractRater } from './rate-changed.ts'
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
/** A daily run is due this many seconds after midnight (UTC). */
const OFFSET_S = 600
/** How long after the start of a process its first run begins. Until then, the process has other work. */
const FIRST_MS = 60_000
const LOOK_MS = 1_000
/** The wait after a failed run, and while another process rates. */
const AGAIN_AFTER_MS = 60_000

/**
 * Rates the contracts of all companies for analysts until it is closed: all of them once in `everyS` seconds, and each
 * soon after it was made or changed, also while a run is under way. Of several processes one does so at a time, one
 * period after the other. A run that was missed is made up for.
 */
export function keepRated(
  { pool, clickhouse, listedUpTo, metrics, reached = () => undefined, ...rest }: KeepRatedDeps,
  everyS: number,
  firstMs = FIRST_MS,
): Closeable {
  const log = rest.log.child({ part: 'rating' })
  const { onRated, onFailed } = ratingMetrics(metrics)
  const patient = forLongReads(clickhouse)
  const usage = ratedUsageReader(patient, rawReadSemaphore())
  const dueAtNow = () => lastDue(Date.now() / 1_000, everyS)
  const parts = {
    pool,
    rated: ratedPeriodRepository(patient),
    copies: dimensionRepository(patient),
    ratePeriods: ratePeriods({ pool, usage, listedUpTo }),
    reached,
    onRated,
  }
  const changed = changedContractRater({
    ...parts,
    lastDueAt: dueAtNow,
    onFailed(contractId, err) {
      onFailed()
      log.warn({ contractId, err: loggableError(err) }, 'could not rate a contract that was changed')
    },
  })
  const besides = withPauses(changed, Math.min(AGAIN_AFTER_MS, everyS * 1_000), log)
  const runs = ratingRunRepository(patient)
  const rate = contractRater({ ...parts, runs, listedUpTo, besides: besides.turn })
  let doneFor: number | undefined
  let notBefore = -Infinity
  const round = async (signal: AbortSignal) => {
    if (performance.now() < notBefore) return
    const dueAt = dueAtNow()
    if (dueAt !== doneFor) {
      const run = { dueAt, until: dueAt + everyS, signal }
      if (await runExclusively(pool, JOB, () => rate(run))) doneFor = dueAt
    } else if (besides.isDue())
      await runExclusively(pool, JOB, async () => {
        while (besides.isDue() && dueAtNow() === dueAt && !signal.aborted) await besides.turn(signal)
      })
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
    Math.min(firstMs, everyS * 1_000),
  )
}

/** A failure does not end the run in which it happens. After it, the next turn comes later. */
function withPauses(
  { isDue, turn }: ChangedContractRater,
  pauseMs: number,
  log: Logger,
): ChangedContractRater {
  let notBefore = -Infinity
  const isDueNow = () => performance.now() >= notBefore && isDue()
  return {
    isDue: isDueNow,
    async turn(signal) {
      if (!isDueNow()) return false
      try {
        return await turn(signal)
      } catch (err) {
        if (signal.aborted) return false
        notBefore = performance.now() + pauseMs
        log.warn({ err: loggableError(err) }, 'could not rate contracts that were changed, trying again')
        return false
      }
    },
  }
}

/**
 * Returns the last time at which a run was due. `now` and the result are Unix seconds.
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
    'Runs of the rating of contracts for analysts that failed in part and are repeated, and contracts that were changed and could not be rated before the next run.',
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
