import { DAY_S, keyBucketOf } from '../../domain/time-range.ts'
import type { CachedEpoch } from './rollup-state.ts'
import { daysParam, isoDay, timesParam } from './time-params.ts'
import { oldestSlotTotalsDay, type UsageCover } from './usage-cover.ts'

/** The columns that are read from each level of a cover. Names and types must be the same on all levels. */
export interface CoverRead {
  fromMonths: string
  fromDays: string
  fromSlots: string
  fromEvents: string
  /** Conditions on the usage: constant SQL texts with parameters. */
  filters: readonly string[]
  /** Makes a further condition on time, from the SQL for the second in which a row's time begins. */
  timeFilter?: (second: string) => string
}

/** SQL for the second in which a row's time begins, on each of the levels. */
export const SECOND_OF = {
  months: "toUnixTimestamp(toDateTime(month, 'UTC'))",
  days: "toUnixTimestamp(toDateTime(day, 'UTC'))",
  slots: 'toUnixTimestamp(slot)',
  events: 'toUnixTimestamp(occurred_at)',
} as const

type Params = Record<string, unknown>

/** A read of one table of rollups. */
interface RollupRead {
  level: 'months' | 'days' | 'slots'
  table: string
  conditions: readonly string[]
}

const OF_EPOCH = 'epoch = {epoch:UInt32}'

/**
 * A SELECT for each level that a cover reads.
 *
 * @param totals whether days, and slots of the last days, are read from the totals of the namespace; there are no
 *   totals by month
 */
export function selectsOf(
  { months, days, slots, events }: UsageCover,
  { slotS, now }: CachedEpoch,
  { fromMonths, fromDays, fromSlots, fromEvents, filters, timeFilter }: CoverRead,
  { totals }: { totals: boolean },
): { selects: string[]; params: Params } {
  const params: Params = {}
  const columns = { months: fromMonths, days: fromDays, slots: fromSlots }
  const filtersAt = (level: keyof typeof SECOND_OF) => [
    ...filters,
    ...(timeFilter === undefined ? [] : [timeFilter(SECOND_OF[level])]),
  ]
  const ofMonths = monthRuns(months, params)
  const hasTotals = (day: number) => totals && day >= oldestSlotTotalsDay(now)
  const rollups = [
    ...readMonths(ofMonths),
    ...readDays(days, ofMonths, totals ? 'usage_by_day_total' : 'usage_by_day', params),
    ...readSlots(slots, hasTotals, params),
  ]
  const selects = rollups.map(({ level, table, conditions }) => {
    const where = [...conditions, ...filtersAt(level)].join(' AND ')
    return `SELECT ${columns[level]} FROM ${table} FINAL WHERE ${where}`
  })
  const unrolled = eventsOf(events, slotS)
  if (unrolled !== undefined) {
    Object.assign(params, unrolled.params)
    const ofKey = [...filtersAt('events'), unrolled.condition].join(' AND ')
    // Why PREWHERE: see conditionsOf in usage-aggregates.
    selects.push(`SELECT ${fromEvents} FROM usage_events FINAL PREWHERE ${ofKey} WHERE voided = 0`)
  }
  return { selects, params }
}

/** A condition for each run of months, to be written after a column. Adds its parameters to `params`. */
const monthRuns = (months: UsageCover['months'], params: Params): string[] =>
  months.map(({ startAt, endAt }, nth) => {
    Object.assign(params, { [`monthFrom${nth}`]: isoDay(startAt), [`monthTo${nth}`]: isoDay(endAt - DAY_S) })
    return `BETWEEN {monthFrom${nth}:Date} AND {monthTo${nth}:Date}`
  })

function readMonths(ofMonths: readonly string[]): RollupRead[] {
  if (ofMonths.length === 0) return []
  const inRuns = `(${ofMonths.map((run) => `month ${run}`).join(' OR ')})`
  return [{ level: 'months', table: 'usage_by_month', conditions: [OF_EPOCH, inRuns, 'count > 0'] }]
}

/** Reads days outside of the months that are read. Adds its parameters to `params`. */
function readDays(
  days: UsageCover['days'],
  ofMonths: readonly string[],
  table: string,
  params: Params,
): RollupRead[] {
  if (days === undefined) return []
  Object.assign(params, { dayFrom: isoDay(days.startAt), dayTo: isoDay(days.endAt) })
  const conditions = [OF_EPOCH, 'day >= {dayFrom:Date}', 'day < {dayTo:Date}', 'count > 0']
  conditions.push(...ofMonths.map((run) => `day NOT ${run}`))
  if (days.except.length > 0) {
    params['daysExcept'] = days.except.map(dayNumber)
    conditions.push(`day NOT IN ${daysParam('daysExcept')}`)
  }
  return [{ level: 'days', table, conditions }]
}

/**
 * Reads slots: from the totals if the day has totals, otherwise from the slots of each account. Adds its parameters to
 * `params`.
 */
function readSlots(
  slots: UsageCover['slots'],
  hasTotals: (day: number) => boolean,
  params: Params,
): RollupRead[] {
  if (slots === undefined) return []
  Object.assign(params, { slotFrom: slots.startAt, slotTo: slots.endAt })
  const conditions = [
    OF_EPOCH,
    "slot >= toDateTime({slotFrom:UInt32}, 'UTC')",
    "slot < toDateTime({slotTo:UInt32}, 'UTC')",
    'count > 0',
  ]
  if (slots.except.length > 0) {
    params['slotsExcept'] = slots.except
    conditions.push('toUnixTimestamp(slot) NOT IN {slotsExcept:Array(UInt32)}')
  }
  const readOnDays = (name: string, table: string, wanted: readonly number[]): RollupRead[] => {
    if (wanted.length === 0) return []
    params[name] = wanted.map(dayNumber)
    return [{ level: 'slots', table, conditions: [...conditions, `toDate(slot) IN ${daysParam(name)}`] }]
  }
  const withoutTotals = slots.days.filter((day) => !hasTotals(day))
  return [
    ...readOnDays('slotDays', 'usage_by_slot', withoutTotals),
    ...readOnDays('slotTotalDays', 'usage_by_slot_total', slots.days.filter(hasTotals)),
  ]
}

/** The bucket of a time in the sorting key. */
const KEY_BUCKET = 'toStartOfFiveMinutes(occurred_at)'

/**
 * The conditions for reading events; each begins with a condition on the sorting key. No slot crosses the edge of a key
 * bucket, because a bucket is a multiple of a slot (build-epoch.ts).
 *
 * @returns undefined when nothing is read
 */
export function eventsOf(
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

/** Full days between 1970 and a second. */
const dayNumber = (second: number): number => Math.floor(second / DAY_S)
