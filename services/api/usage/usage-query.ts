import { daysIn } from '../../../shared/domain/period.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import type { Aggregation } from '../../../shared/domain/usage-aggregate.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'

/** The parameters that all usage queries have. */
export interface UsageQuery {
  aggregation: Aggregation
  /** Limits the answer to usage in this currency; undefined: no limit. */
  currency: string | undefined
}

/** How many UTC days a range may overlap when the answer is by day or month. */
const DAYS_MAX = 3_700

/** @throws DomainError unprocessable when the range is empty or reversed */
export function requireForwards({ startAt, endAt }: TimeRange): void {
  if (startAt >= endAt) throw new DomainError('unprocessable', 'end_at: must be after start_at')
}

/** @throws DomainError malformed when the range overlaps too many UTC days */
export function requireFewDays(range: TimeRange): void {
  const days = daysIn(range)
  if (days > DAYS_MAX)
    throw new DomainError(
      'malformed',
      `end_at: the range overlaps ${days} UTC days, at most ${DAYS_MAX} are allowed`,
    )
}
