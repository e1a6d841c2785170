import { isZero, sumDecimals } from './decimal.ts'

/** What was used on a day. */
export interface UsedDay {
  startAt: number
  quantity: string
}

/** The days over which a mean is taken. */
export interface MeanDays {
  used: string
  days: number
  /** Whether the first of them is the first day of usage at all. */
  isSinceFirst: boolean
}

/**
 * Chooses the days whose mean says how much is used on a day. What was not in use before would otherwise seem to last
 * longer than it does.
 *
 * @param all whole days in order of time
 * @param wasUsedBefore whether there was usage before these days
 */
export function meanDays(all: readonly UsedDay[], wasUsedBefore: boolean): MeanDays {
  const first = wasUsedBefore ? 0 : all.findIndex(({ quantity }) => !isZero(quantity))
  const days = first < 0 ? [] : all.slice(first)
  return {
    used: sumDecimals(days.map(({ quantity }) => quantity)),
    days: days.length,
    isSinceFirst: !wasUsedBefore,
  }
}
