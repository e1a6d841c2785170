import { DURATION_BUCKETS, type Metrics } from '../../shared/metrics/metrics.ts'
import type { RefillOutcome } from './refill-balances.ts'

/** The steps that the refill service tries again after a failure. */
export type RefillStep = 'follow' | 'sweep' | 'refill' | 'credits'

/** The refill service's metrics. */
export interface RefillMetrics {
  /** The balances of this many configurations were checked without a lock. */
  looked(configurations: number): void
  /** A balance was checked under its lock. */
  tried(outcome: RefillOutcome['kind']): void
  /** A sweep of all active configurations ended. */
  swept(seconds: number): void
  /** This many grants of credit lines were made. */
  credited(grants: number): void
  failed(step: RefillStep): void
}

export function refillMetrics(metrics: Metrics): RefillMetrics {
  const looked = metrics.counter(
    'tally_refill_balances_total',
    'Balances that were checked. A balance below its minimum is then checked again under its lock.',
  )()
  const outcomes = metrics.counter(
    'tally_refill_attempts_total',
    'Balances that were checked under their lock, by the outcome.',
    ['outcome'],
  )
  const tried: Record<RefillOutcome['kind'], () => void> = {
    refilled: outcomes('refilled'),
    enough: outcomes('enough'),
    not_now: outcomes('not_now'),
    too_soon: outcomes('too_soon'),
    day_full: outcomes('day_full'),
    too_large: outcomes('too_large'),
  }
  const took = metrics.histogram(
    'tally_refill_sweep_duration_seconds',
    'How long a check of all active refill configurations took.',
    DURATION_BUCKETS,
  )()
  const credited = metrics.counter(
    'tally_refill_contract_credits_total',
    'Grants that were made for credit lines of contracts.',
  )()
  const failures = metrics.counter('tally_refill_failures_total', 'Failed attempts, which are repeated.', [
    'step',
  ])
  const failed = {
    follow: failures('follow'),
    sweep: failures('sweep'),
    refill: failures('refill'),
    credits: failures('credits'),
  }
  return {
    looked,
    tried: (outcome) => {
      tried[outcome]()
    },
    swept: took,
    credited,
    failed: (step) => {
      failed[step]()
    },
  }
}
