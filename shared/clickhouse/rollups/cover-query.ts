import { keyBucketOf } from '../../domain/time-range.ts'
import {
  DAY_S,
  coveringRanges,
  enumerateShortRanges,
  oldestSlotTotalsDay,
  secondsOf,
  type UsageCover,
} from '../../domain/usage-cover.ts'
import type { KnownEpoch } from './rollup-state.ts'
import { timesOf } from './times-of.ts'

/** Ranges of the events that the sorting key is asked for at most; see coveringRanges. */
const RANGES_MAX = 32
/** … and key buckets one by one. */
const BUCKETS_MAX = 1_000
/** Runs of days that are left out as such at most. */
const RUNS_MAX = 4

/** What a query wants of each place it reads: columns of the same names and types from all of them. */
export interface Wanted {
  fromMonths: string
  fromDays: string
  fromSlots: string
  fromEvents: string
  /** Of whom; fixed texts with parameters. */
  filters: readonly string[]
  /** One that also asks for a time: told how the second in which a row begins is written. */
  timeFilter?: (second: string) => string
}

/** The second in which what a row holds begins, in each of the places. */
export const SECOND_OF = {
  months: "toUnixTimestamp(toDateTime(month, 'UTC'))",
  days: "toUnixTimestamp(toDateTime(day, 'UTC'))",
  slots: 'toUnixTimestamp(slot)',
  events: 'toUnixTimestamp(occurred_at)',
} as const

/**
 * A SELECT for each place that a cover reads.
 *
 * @param totals whether days, and slots of the last days, come from the totals of the namespace, of which there are none by month
 */
export function selectsOf(
  { months, days, slots, raw }: UsageCover,
  { slotS, now }: KnownEpoch,
  { fromMonths, fromDays, fromSlots, fromEvents, filters, timeFilter }: Wanted,
  totals: boolean,
): { selects: string[]; params: Record<string, unknown> } {
  const selects: string[] = []
  const params: Record<string, unknown> = {}
  const filtersOf = (place: keyof typeof SECOND_OF) => [
    ...filters,
    ...(timeFilter === undefined ? [] : [timeFilter(SECOND_OF[place])]),
  ]
  const add = (
    place: 'months' | 'days' | 'slots',
    columns: string,
    table: string,
    conditions: readonly string[],
  ) => {
    const where = [...conditions, ...filtersOf(place)].join(' AND ')
    selects.push(`SELECT ${columns} FROM ${table} FINAL WHERE ${where}`)
  }
  const rolled = ['epoch = {epoch:UInt32}']
  const ofMonths = months.map(({ startAt, endAt }, nth) => {
    Object.assign(params, { [`monthFrom${nth}`]: isoDay(startAt), [`monthTo${nth}`]: isoDay(endAt - DAY_S) })
    return `BETWEEN {monthFrom${nth}:Date} AND {monthTo${nth}:Date}`
  })
  if (ofMonths.length > 0) {
    const inRuns = `(${ofMonths.map((run) => `month ${run}`).join(' OR ')})`
    add('months', fromMonths, 'usage_by_month', [...rolled, inRuns, 'count > 0'])
  }
  if (days !== undefined) {
    Object.assign(params, { dayFrom: isoDay(days.startAt), dayTo: isoDay(days.endAt) })
    const conditions = [...rolled, 'day >= {dayFrom:Date}', 'day < {dayTo:Date}', 'count > 0']
    const { conditions: butFor, params: exceptions } = exceptDays(days.except)
    Object.assign(params, exceptions)
    conditions.push(...butFor, ...ofMonths.map((run) => `day NOT ${run}`))
    add('days', fromDays, totals ? 'usage_by_day_total' : 'usage_by_day', conditions)
  }
  if (slots !== undefined) {
    Object.assign(params, { slotFrom: slots.startAt, slotTo: slots.endAt })
    const conditions = [
      ...rolled,
      "slot >= toDateTime({slotFrom:UInt32}, 'UTC')",
      "slot < toDateTime({slotTo:UInt32}, 'UTC')",
      'count > 0',
    ]
    if (slots.except.length > 0) {
      params['slotsExcept'] = slots.except
      conditions.push('toUnixTimestamp(slot) NOT IN {slotsExcept:Array(UInt32)}')
    }
    const hasTotals = (day: number) => totals && day >= oldestSlotTotalsDay(now)
    const addDays = (name: string, table: string, wanted: readonly number[]) => {
      if (wanted.length === 0) return
      params[name] = wanted.map(isoDay)
      add('slots', fromSlots, table, [...conditions, `toDate(slot) IN {${name}:Array(Date)}`])
    }
    addDays(
      'slotDays',
      'usage_by_slot',
      slots.days.filter((day) => !hasTotals(day)),
    )
    addDays('slotTotalDays', 'usage_by_slot_total', slots.days.filter(hasTotals))
  }
  const events = eventsOf(raw, slotS)
  if (events !== undefined) {
    Object.assign(params, events.params)
    const ofKey = [...filtersOf('events'), ...events.conditions].join(' AND ')
    // Why PREWHERE: see usage-aggregates.
    selects.push(`SELECT ${fromEvents} FROM usage_events FINAL PREWHERE ${ofKey} WHERE voided = 0`)
  }
  return { selects, params }
}

/** What is left out of the days. Long runs are told as such: months that lie wholly in one are not even looked into. */
function exceptDays(except: readonly number[]): { conditions: string[]; params: Record<string, unknown> } {
  const conditions: string[] = []
  const params: Record<string, unknown> = {}
  const runs = coveringRanges({ ranges: [], slots: [], days: [...except] }, DAY_S, Infinity)
  const long = runs.sort((a, b) => b.endAt - b.startAt - (a.endAt - a.startAt)).slice(0, RUNS_MAX)
  for (const [index, { startAt, endAt }] of long.entries()) {
    Object.assign(params, {
      [`exceptFrom${index}`]: isoDay(startAt),
      [`exceptTo${index}`]: isoDay(endAt - DAY_S),
    })
    conditions.push(`day NOT BETWEEN {exceptFrom${index}:Date} AND {exceptTo${index}:Date}`)
  }
  const others = except.filter((day) => !long.some(({ startAt, endAt }) => startAt <= day && day < endAt))
  if (others.length > 0) {
    params['daysExcept'] = others.map(isoDay)
    conditions.push('day NOT IN {daysExcept:Array(Date)}')
  }
  return { conditions, params }
}

/** The conditions of what is read raw: first for the sorting key; where that lets others through, then exactly. */
function eventsOf(
  raw: UsageCover['raw'],
  slotS: number,
): { conditions: string[]; params: Record<string, unknown> } | undefined {
  const { ranges, slots, days } = raw
  const params: Record<string, unknown> = {}
  const covering = coveringRanges(raw, slotS, RANGES_MAX)
  const { buckets, ranges: keyRanges } = enumerateShortRanges(covering, BUCKETS_MAX)
  const keyConditions = keyRanges.map(({ startAt, endAt }, index) => {
    params[`keyFrom${index}`] = keyBucketOf(startAt)
    params[`keyTo${index}`] = keyBucketOf(endAt - 1)
    return `toStartOfFiveMinutes(occurred_at) BETWEEN toDateTime({keyFrom${index}:UInt32}, 'UTC') AND toDateTime({keyTo${index}:UInt32}, 'UTC')`
  })
  if (buckets.length > 0) {
    params['keyBuckets'] = buckets
    keyConditions.push(`toStartOfFiveMinutes(occurred_at) IN ${timesOf('keyBuckets')}`)
  }
  if (keyConditions.length === 0) return undefined
  const inKey = `(${keyConditions.join(' OR ')})`
  // Its pieces never overlap: if the covering ranges are as many seconds, they hold nothing else, and need no exact condition.
  const wholeS = secondsOf(ranges) + slots.length * slotS + days.length * DAY_S
  const isExact =
    secondsOf(covering) === wholeS &&
    covering.every(({ startAt, endAt }) => beginsKeyBucket(startAt) && beginsKeyBucket(endAt))
  if (isExact) return { conditions: [inKey], params }
  const exactly = ranges.map(({ startAt, endAt }, index) => {
    params[`from${index}`] = startAt
    params[`to${index}`] = endAt
    return `(occurred_at >= toDateTime({from${index}:UInt32}, 'UTC') AND occurred_at < toDateTime({to${index}:UInt32}, 'UTC'))`
  })
  const second = 'toUnixTimestamp(occurred_at)'
  if (slots.length > 0) {
    params['slots'] = slots
    exactly.push(`${second} - ${second} % ${slotS} IN {slots:Array(UInt32)}`)
  }
  if (days.length > 0) {
    params['days'] = days
    exactly.push(`${second} - ${second} % 86400 IN {days:Array(UInt32)}`)
  }
  return { conditions: [inKey, `(${exactly.join(' OR ')})`], params }
}

/** Whether a key bucket begins at a second. */
const beginsKeyBucket = (second: number): boolean => keyBucketOf(second) === second

const isoDay = (second: number): string => new Date(second * 1_000).toISOString().slice(0, 10)
