import fc from 'fast-check'
import type { Cadence } from '../../shared/domain/billing/periods.ts'
import type { ContractJson } from './billing-vectors.ts'
import { naivePeriod } from './naive-periods.ts'

export const DAY_S = 86_400
/**
 * All usage of a world is before autumn 2026, and its contract is less than five years old, so a service accepts it.
 */
const FIRST_START = Date.UTC(2023, 0, 1) / 1_000

/** A time in a world: one at which something begins or ends, or any other. */
interface Moment {
  /** The number of a time at which something begins or ends; null for any other time. */
  known: number | null
  /** The position in the period and its surroundings, in thousandths. */
  way: number
}

/** Without bias, because fast-check would otherwise prefer small values. */
export const thousandths = fc.noBias(fc.nat({ max: 999 }))
export const moment: fc.Arbitrary<Moment> = fc.record({
  known: fc.option(fc.noBias(fc.nat({ max: 99 })), { freq: 2 }),
  way: thousandths,
})

export const seldom = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some })
export const often = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 4, arbitrary: some })

/** Often the last day of a month, and often with a time of day. */
const dayAndTime = fc
  .tuple(
    fc.oneof(
      fc.integer({ min: 0, max: 500 }).map((day) => FIRST_START + day * DAY_S),
      fc.constantFrom(
        ...['2023-01-31', '2023-08-31', '2023-11-30', '2023-12-31', '2024-02-29', '2024-03-01'].map(
          (text) => Date.parse(text) / 1_000,
        ),
      ),
    ),
    fc.oneof(fc.constantFrom(0, 0, 12 * 3_600), fc.integer({ min: 0, max: DAY_S - 1 })),
  )
  .map(([day, time]) => day + time)

export const times = fc.record({
  currency: fc.constantFrom('usd', 'usd', 'usd', 'jpy', 'bhd', 'clf'),
  cadence: fc.constantFrom<Cadence>('day', 'week', 'month', 'month', 'month', 'quarter', 'half_year', 'year'),
  startsAt: dayAndTime,
  anchor: fc.oneof(fc.constant(null), dayAndTime, fc.constantFrom(Date.UTC(2020, 1, 29) / 1_000)),
  /** The number of periods after the one in which the contract starts. */
  periods: fc.nat({ max: 2 }),
  ends: fc.constantFrom('never', 'never', 'never', 'never', 'inside', 'period', 'later'),
  canceled: fc.constantFrom('never', 'never', 'never', 'inside', 'period'),
  endWay: thousandths,
  cancelWay: thousandths,
  cutWays: fc.tuple(thousandths, thousandths),
  second: fc.constantFrom('first', 'last', 'between'),
})

type Times = typeof times extends fc.Arbitrary<infer T> ? T : never

/** The contract without its lines, the period, and the times of events. */
export interface Frame {
  contract: Omit<ContractJson, 'lines'>
  /** Two times within the period at which lines may be replaced. */
  cuts: [number, number]
  /** The second by which a request names the period. */
  second: number
  at: (moment: Moment) => number
}

export function frameOf(of: Times): Frame {
  const schedule = { cadence: of.cadence, anchor_at: of.anchor ?? of.startsAt }
  let whole = naivePeriod(schedule, of.startsAt)
  const periods = of.cadence === 'year' ? Math.min(of.periods, 1) : of.periods
  for (let k = 0; k < periods; k++) whole = naivePeriod(schedule, whole.endAt)
  const from = Math.max(whole.startAt, of.startsAt)
  const inside = (way: number) => from + Math.ceil(((whole.endAt - from) * (way + 1)) / 1_001)
  const later = 2 * whole.endAt - whole.startAt
  const end = { never: Infinity, inside: inside(of.endWay), period: whole.endAt, later }[of.ends]
  const cancel = Math.min(
    end,
    { never: Infinity, inside: inside(of.cancelWay), period: whole.endAt }[of.canceled],
  )
  const isCanceled = of.canceled !== 'never'
  const period = { startAt: from, endAt: Math.min(whole.endAt, end, cancel) }
  const [a, b] = of.cutWays.map(inside).sort((one, other) => one - other)
  const cuts: [number, number] = [a ?? from, b ?? from]
  const edges = [from, period.endAt, whole.startAt, whole.endAt, ...cuts]
  const known = [...edges, period.endAt, ...edges.flatMap((edge) => [edge - 1, edge + 1])]
  const length = whole.endAt - whole.startAt
  return {
    contract: {
      id: '6f1d3f0e-0000-4000-8000-000000000001',
      account_id: 'account_a',
      currency: of.currency,
      cadence: of.cadence,
      anchor_at: schedule.anchor_at,
      starts_at: of.startsAt,
      ...(end !== Infinity && { ends_at: end }),
      ...(isCanceled && { cancel_at: cancel }),
    },
    cuts,
    second: { first: from, last: period.endAt - 1, between: Math.floor((from + period.endAt) / 2) }[
      of.second
    ],
    at: ({ known: number, way }) =>
      (number === null ? undefined : known[number % known.length]) ??
      whole.startAt - Math.floor(length / 8) + Math.floor((5 * length * way) / 4_000),
  }
}
