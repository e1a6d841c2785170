import { keyBucketOf } from '../../domain/time-range.ts'
import { DAY_S, oldestSlotTotalsDay, type UsageCover } from './usage-cover.ts'
import type { KnownEpoch } from './rollup-state.ts'
import { daysParam, timesParam } from './time-params.ts'

/** What is read of each place of a cover: columns of the same names and types from all of them. */
export interface CoverRead {
  fromMonths: string
  fromDays: string
  fromSlots: string
  fromEvents: string
  /** Of whom; fixed texts with parameters. */
  filters: readonly string[]
  /** A further condition, on time; it is given the SQL for the second in which a row begins. */
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
 * @param totals whether days, and slots of the last days, come from the totals of the namespace, of which there are
 *   none by month
 */
export function selectsOf(
  { months, days, slots, events }: UsageCover,
  { slotS, now }: KnownEpoch,
  { fromMonths, fromDays, fromSlots, fromEvents, filters, timeFilter }: CoverRead,
  { totals }: { totals: boolean },
): { selects: string[]; params: Record<string, unknown> } {
  const selects: string[] = []
  const params: Record<string, unknown> = {}
  const filtersAt = (place: keyof typeof SECOND_OF) => [
    ...filters,
    ...(timeFilter === undefined ? [] : [timeFilter(SECOND_OF[place])]),
  ]
  const add = (
    place: 'months' | 'days' | 'slots',
    columns: string,
    table: string,
    conditions: readonly string[],
  ) => {
    const where = [...conditions, ...filtersAt(place)].join(' AND ')
    selects.push(`SELECT ${columns} FROM ${table} FINAL WHERE ${where}`)
  }
  const ofEpoch = ['epoch = {epoch:UInt32}']
  const ofMonths = months.map(({ startAt, endAt }, nth) => {
    Object.assign(params, { [`monthFrom${nth}`]: isoDay(startAt), [`monthTo${nth}`]: isoDay(endAt - DAY_S) })
    return `BETWEEN {monthFrom${nth}:Date} AND {monthTo${nth}:Date}`
  })
  if (ofMonths.length > 0) {
    const inRuns = `(${ofMonths.map((run) => `month ${run}`).join(' OR ')})`
    add('months', fromMonths, 'usage_by_month', [...ofEpoch, inRuns, 'count > 0'])
  }
  if (days !== undefined) {
    Object.assign(params, { dayFrom: isoDay(days.startAt), dayTo: isoDay(days.endAt) })
    const conditions = [...ofEpoch, 'day >= {dayFrom:Date}', 'day < {dayTo:Date}', 'count > 0']
    conditions.push(...ofMonths.map((run) => `day NOT ${run}`))
    if (days.except.length > 0) {
      params['daysExcept'] = days.except.map(dayNumber)
      conditions.push(`day NOT IN ${daysParam('daysExcept')}`)
    }
    add('days', fromDays, totals ? 'usage_by_day_total' : 'usage_by_day', conditions)
  }
  if (slots !== undefined) {
    Object.assign(params, { slotFrom: slots.startAt, slotTo: slots.endAt })
    const conditions = [
      ...ofEpoch,
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
      params[name] = wanted.map(dayNumber)
      add('slots', fromSlots, table, [...conditions, `toDate(slot) IN ${daysParam(name)}`])
    }
    addDays(
      'slotDays',
      'usage_by_slot',
      slots.days.filter((day) => !hasTotals(day)),
    )
    addDays('slotTotalDays', 'usage_by_slot_total', slots.days.filter(hasTotals))
  }
  const unrolled = eventsOf(events, slotS)
  if (unrolled !== undefined) {
    Object.assign(params, unrolled.params)
    const ofKey = [...filtersAt('events'), unrolled.condition].join(' AND ')
    // Why PREWHERE: see conditionsOf in usage-aggregates.
    selects.push(`SELECT ${fromEvents} FROM usage_events FINAL PREWHERE ${ofKey} WHERE voided = 0`)
  }
  return { selects, params }
}

/** The bucket of a time in the sorting key. */
const KEY_BUCKET = 'toStartOfFiveMinutes(occurred_at)'

/**
 * The conditions of what is read from the events; each begins with one of the sorting key. No slot reaches from one
 * key bucket into the next: their lengths are parts of it (build-epoch.ts).
 */
function eventsOf(
  { ranges, slots, days }: UsageCover['events'],
  slotS: number,
): { condition: string; params: Record<string, unknown> } | undefined {
  const params: Record<string, unknown> = {}
  const conditions = ranges.map(({ startAt, endAt }, nth) => {
    Object.assign(params, {
      [`keyFrom${nth}`]: keyBucketOf(startAt),
      [`keyTo${nth}`]: keyBucketOf(endAt - 1),
      [`from${nth}`]: startAt,
      [`to${nth}`]: endAt,
    })
    const time = (name: string) => `toDateTime({${name}${nth}:UInt32}, 'UTC')`
    return `(${KEY_BUCKET} BETWEEN ${time('keyFrom')} AND ${time('keyTo')}
      AND occurred_at >= ${time('from')} AND occurred_at < ${time('to')})`
  })
  if (slots.length > 0) {
    Object.assign(params, { eventSlots: slots, buckets: [...new Set(slots.map(keyBucketOf))] })
    const second = 'toUnixTimestamp(occurred_at)'
    conditions.push(
      `(${KEY_BUCKET} IN ${timesParam('buckets')} AND ${second} - ${second} % ${slotS} IN {eventSlots:Array(UInt32)})`,
    )
  }
  if (days.length > 0) {
    params['eventDays'] = days.map(dayNumber)
    conditions.push(`toDate(${KEY_BUCKET}) IN ${daysParam('eventDays')}`)
  }
  return conditions.length === 0 ? undefined : { condition: `(${conditions.join(' OR ')})`, params }
}

/** Days since 1970 until a second. */
const dayNumber = (second: number): number => Math.floor(second / DAY_S)

const isoDay = (second: number): string => new Date(second * 1_000).toISOString().slice(0, 10)
