import type { TimesJson } from './billing-vectors.ts'

/** A half-open range of seconds. */
export interface NaiveRange {
  startAt: number
  endAt: number
}

const DAY_S = 24 * 60 * 60
const MONTHS = { month: 1, quarter: 3, half_year: 6, year: 12 }

/** Finds the whole period that contains a second, by steps of one period from the anchor. */
export function naivePeriod(contract: Pick<TimesJson, 'anchor_at' | 'cadence'>, second: number): NaiveRange {
  let k = 0
  while (naiveBoundary(contract, k) > second) k--
  while (naiveBoundary(contract, k + 1) <= second) k++
  return { startAt: naiveBoundary(contract, k), endAt: naiveBoundary(contract, k + 1) }
}

function naiveBoundary({ anchor_at, cadence }: Pick<TimesJson, 'anchor_at' | 'cadence'>, k: number): number {
  if (cadence === 'day') return anchor_at + k * DAY_S
  if (cadence === 'week') return anchor_at + k * 7 * DAY_S
  const anchor = new Date(anchor_at * 1_000)
  const timeOfDay = anchor_at - dayOf(anchor.getUTCFullYear(), anchor.getUTCMonth(), anchor.getUTCDate())
  let year = anchor.getUTCFullYear()
  let month = anchor.getUTCMonth() + k * MONTHS[cadence]
  for (; month > 11; month -= 12) year++
  for (; month < 0; month += 12) year--
  let day = anchor.getUTCDate()
  // Date turns the 31st of a shorter month into a day of the next month.
  while (new Date(dayOf(year, month, day) * 1_000).getUTCMonth() !== month) day--
  return dayOf(year, month, day) + timeOfDay
}

const dayOf = (year: number, month: number, day: number): number => Date.UTC(year, month, day) / 1_000
