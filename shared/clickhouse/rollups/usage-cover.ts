import { groupBy } from '../../collections/group-by.ts'
import { monthAfter, monthOf } from '../../domain/month.ts'
import { DAY_S, type TimeRange } from '../../domain/time-range.ts'

/** Days younger than this are read by slots where needed. ClickHouse keeps slots for 40 days, which is a wide margin. */
export const SLOTS_READ_FOR_DAYS = 33

/**
 * Totals of all accounts by slot are read for this many days, today included. Earlier days have a total for the day.
 * Rollup services write slot totals for one day more (slotTotalsKeptFrom). They compute them from
 * usage_by_slot_by_time, which gets a copy of the slots of today and of three days before. Both tables keep their rows
 * for five days.
 */
const SLOT_TOTALS_READ_FOR_DAYS = 2

/**
 * Months are read if they are at least this long in total. For fewer, reading their days costs less than reading one
 * more table.
 */
const MONTHS_MIN_S = 180 * DAY_S

/**
 * At most this many runs of months are read, the longest ones. Each run needs a condition of its own that excludes its
 * days from the read of days.
 */
const MONTH_RUNS_MAX = 4

/** Which rollups are valid, at one moment. */
export interface RollupState {
  epoch: number
  /** Unix seconds, by the clock of ClickHouse. */
  now: number
  /** The length of a slot; a day is a multiple of it. */
  slotS: number
  /** Slots before this are in the rollups. The start of a slot. */
  closedThrough: number
  /** The start of the first month with usage; Infinity when there are no months. */
  monthsFrom: number
  /** Starts of slots that may lack events. */
  dirtySlots: readonly number[]
  /** Starts of days in which any slot may lack events. */
  dirtyDays: readonly number[]
}

/** The tables that the usage of a range is read from. Each second is read from exactly one of them. */
export interface UsageCover {
  /** Whole months from usage_by_month: runs of them, in order; no two of them touch. */
  months: TimeRange[]
  /** Whole days from usage_by_day: those of the range, except those in `months` and those in `except`. */
  days: (TimeRange & { except: number[] }) | undefined
  /** Whole slots from usage_by_slot or its totals: those of `days` within the range, except those in `except`. */
  slots: (TimeRange & { days: number[]; except: number[] }) | undefined
  /** The rest, from the events: ranges, whole slots and whole days; no two of them overlap or touch. */
  events: { ranges: TimeRange[]; slots: number[]; days: number[] }
}

/** The start of the day that contains a second. */
export const dayOf = (second: number): number => second - (second % DAY_S)

/** The first day whose slots are read. @param now Unix seconds */
export const oldestSlotDay = (now: number): number => dayOf(now) - SLOTS_READ_FOR_DAYS * DAY_S

/** The first day whose slots are read as totals of all accounts. @param now Unix seconds */
export const oldestSlotTotalsDay = (now: number): number =>
  dayOf(now) - (SLOT_TOTALS_READ_FOR_DAYS - 1) * DAY_S

/** Options that decide, together with the range, from which tables usage is read. */
export interface CoverOptions {
  /**
   * Unix seconds at which usage is split. A day with a cut inside is read by slots, and a slot with a cut inside is
   * read from the events.
   */
  cuts?: readonly number[]
  /**
   * Whether months may be read. Readers that need single days, or totals of all accounts, set it to false.
   */
  hasMonths?: boolean
  /**
   * Whether months are read however few they are. Readers of all accounts set it: the months of many accounts are far
   * fewer rows than their days.
   */
  readsFewMonths?: boolean
}

/**
 * Decides from which tables usage of a range is read: from months and days that are whole, closed and without marks,
 * then from slots, then from the events.
 */
export function coverUsage(
  { startAt, endAt }: TimeRange,
  state: RollupState,
  { cuts = [], hasMonths = true, readsFewMonths = false }: CoverOptions = {},
): UsageCover {
  const { slotS, closedThrough } = state
  const splitSlots = [
    ...new Set([
      ...state.dirtySlots,
      ...cuts.filter((cut) => dayOf(cut) !== cut).map((cut) => cut - (cut % slotS)),
    ]),
  ]
  const events: UsageCover['events'] = { ranges: [], slots: [], days: [] }
  const addRange = (from: number, to: number) => {
    if (from < to) events.ranges.push({ startAt: from, endAt: to })
  }
  addRange(Math.max(startAt, closedThrough), endAt)
  const closedEnd = Math.min(endAt, closedThrough)
  if (startAt >= closedEnd) return { months: [], days: undefined, slots: undefined, events }

  const firstDay = ceilTo(startAt, DAY_S)
  const endDay = Math.max(firstDay, dayOf(closedEnd))
  const wholly = new Set(state.dirtyDays)
  const slotsByDay = groupBy(splitSlots, dayOf)
  const notWhole = [...new Set([...wholly, ...slotsByDay.keys()])]
    .filter((day) => day >= firstDay && day < endDay)
    .sort((a, b) => a - b)

  const slotDays: number[] = []
  const except: number[] = []
  const oldest = oldestSlotDay(state.now)
  const coverPart = (from: number, to: number) => {
    if (from >= to) return
    const day = dayOf(from)
    const [firstSlot, endSlot] = [ceilTo(from, slotS), to - (to % slotS)]
    if (wholly.has(day) || day < oldest || firstSlot >= endSlot) {
      if (to - from === DAY_S) events.days.push(day)
      else addRange(from, to)
      return
    }
    addRange(from, firstSlot)
    addRange(endSlot, to)
    slotDays.push(day)
    const dirtyHere = (slotsByDay.get(day) ?? []).filter((slot) => slot >= firstSlot && slot < endSlot)
    events.slots.push(...dirtyHere)
    except.push(...dirtyHere)
  }
  coverPart(startAt, Math.min(firstDay, closedEnd))
  for (const day of notWhole) coverPart(day, day + DAY_S)
  coverPart(endDay, closedEnd)

  const splits = [...notWhole, ...cuts.filter((cut) => monthOf(cut) !== cut)]
  // Only months with usage count: empty days cost nothing, so they must not make a short history look long.
  const withMonths = { startAt: Math.max(firstDay, state.monthsFrom), endAt: endDay }
  const months = hasMonths ? wholeMonths(withMonths, splits, readsFewMonths ? 0 : MONTHS_MIN_S) : []
  const daysS = endDay - firstDay - secondsOf(months) - notWhole.length * DAY_S
  return {
    months,
    days: daysS > 0 ? { startAt: firstDay, endAt: endDay, except: notWhole } : undefined,
    slots:
      slotDays.length === 0
        ? undefined
        : { startAt: ceilTo(startAt, slotS), endAt: closedEnd - (closedEnd % slotS), days: slotDays, except },
    events,
  }
}

/**
 * Runs of whole months within a range, without the months that contain a split; empty when they are too short in total.
 *
 * @param splits Unix seconds, in any order
 * @param minS the shortest total length in seconds
 */
function wholeMonths({ startAt, endAt }: TimeRange, splits: readonly number[], minS: number): TimeRange[] {
  if (startAt >= endAt) return []
  const first = monthOf(startAt) === startAt ? startAt : monthAfter(startAt)
  const end = monthOf(endAt)
  const skipped = [...new Set(splits.map(monthOf))]
    .filter((month) => month >= first && month < end)
    .sort((a, b) => a - b)
  const runs: TimeRange[] = []
  let from = first
  for (const month of [...skipped, end]) {
    if (from < month) runs.push({ startAt: from, endAt: month })
    from = monthAfter(month)
  }
  const longest = runs.sort((a, b) => lengthOf(b) - lengthOf(a)).slice(0, MONTH_RUNS_MAX)
  return secondsOf(longest) < minS ? [] : longest.sort((a, b) => a.startAt - b.startAt)
}

/** The state while there are no rollups: everything is read from the events. */
export const NO_ROLLUPS: RollupState = {
  epoch: 0,
  now: 0,
  slotS: 300,
  closedThrough: 0,
  monthsFrom: Infinity,
  dirtySlots: [],
  dirtyDays: [],
}

const lengthOf = ({ startAt, endAt }: TimeRange): number => endAt - startAt

/** The total length of ranges that do not overlap. */
const secondsOf = (ranges: readonly TimeRange[]): number =>
  ranges.reduce((sum, range) => sum + lengthOf(range), 0)

const ceilTo = (second: number, step: number): number => Math.ceil(second / step) * step
