import { setTimeout as sleep } from 'node:timers/promises'
import {
  basisOf,
  type ratedPeriodRepository,
  type RatedState,
} from '../../shared/clickhouse/rated-periods.ts'
import { periodAt } from '../../shared/domain/billing/periods.ts'
import { contractRange } from '../../shared/domain/billing/pieces.ts'
import type { ContractRecord } from '../../shared/domain/billing/stored-contract.ts'
import { intersect, type TimeRange } from '../../shared/domain/time-range.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { namespaceClockRepository } from '../../shared/postgres/namespace-clocks.ts'
import type { RatePeriods } from '../../shared/previews/rate-period.ts'
import { MICROS_PER_MS } from '../../shared/time/microsecond-clock.ts'
import type { RollupPoint } from './crash-points.ts'

export interface RatingDeps {
  pool: Pool
  rated: ReturnType<typeof ratedPeriodRepository>
  ratePeriods: RatePeriods
  reached: Reached<RollupPoint>
  /** Called after each period, with the milliseconds that it took. */
  onRated: (ms: number) => void
}

/** A namespace whose contracts are rated. */
export interface Place {
  namespaceId: string
  /** See basisOf. */
  fill: number
}

/** A namespace, and how far its clock is ahead if it is that of a test company. */
export interface PlaceNow extends Place {
  aheadMs: number
}

/** A period of a contract, and how it was rated before. */
export interface OnePeriod {
  contract: ContractRecord
  period: TimeRange
  state: RatedState | undefined
}

/** After each period it rests for as long as it worked, but not longer than this. */
const REST_MS_MAX = 200

/** Reads the clock of a namespace, which may have been moved since. */
export const placeNow = async <Of extends Place>(pool: Pool, place: Of): Promise<Of & PlaceNow> => ({
  ...place,
  aheadMs: await inNamespace(pool, place.namespaceId, (db) =>
    namespaceClockRepository(db).aheadMs(place.namespaceId),
  ),
})

/** The present second in a namespace. */
export const nowIn = ({ aheadMs }: PlaceNow): number => Math.floor((Date.now() + aheadMs) / 1_000)

/** The periods that have begun, the newest first. */
export function periodsOf(contract: ContractRecord, now: number): TimeRange[] {
  const range = contractRange(contract)
  const periods: TimeRange[] = []
  for (let at = Math.min(now, range.endAt - 1); at >= range.startAt;) {
    const whole = periodAt(contract, at)
    const period = intersect(whole, range)
    if (period !== undefined) periods.push(period)
    at = whole.startAt - 1
  }
  return periods
}

/** Whether a period was never rated, or its contract was changed since. */
export const isChanged = ({ contract, state }: Omit<OnePeriod, 'period'>, { fill }: Place): boolean =>
  state?.basis !== basisOf(contract, fill)

/**
 * Reads what the ratings of periods need.
 *
 * @param periods of about the same time: see RatePeriods
 * @returns for each period a function that rates and stores it, and does nothing if its contract does not exist any
 *   more. If all at once would be too much, only for the first
 */
export async function readTogether(
  { rated, ratePeriods, reached, onRated }: RatingDeps,
  place: PlaceNow,
  periods: readonly OnePeriod[],
  signal: AbortSignal,
): Promise<(() => Promise<void>)[]> {
  const began = performance.now()
  const ratedAt = Date.now() * MICROS_PER_MS // before the reads: the rating with the later reads wins
  const { namespaceId, aheadMs, fill } = place
  const requests = periods.map(({ contract, period }) => ({ contractId: contract.id, at: period.startAt }))
  const ratings = await ratePeriods(namespaceId, requests, nowIn(place), signal)
  const readMs = (performance.now() - began) / ratings.length
  return ratings.map((rate, index) => async () => {
    const beganAt = performance.now()
    const made = await rate()
    if (made === undefined) return
    reached('rating-read')
    const isFinal = made.period.endAt <= made.usageAsOf + Math.floor(aheadMs / 1_000)
    const basis = basisOf({ updatedAt: made.changedAt }, fill)
    const version = Math.max(ratedAt, (periods[index]?.state?.version ?? 0) + 1)
    await rated.store(namespaceId, made, { version, ratedAt, isFinal, basis })
    reached('rating-stored')
    const ms = readMs + performance.now() - beganAt
    onRated(ms)
    await sleep(Math.min(ms, REST_MS_MAX), undefined, { signal }).catch(() => undefined)
  })
}
