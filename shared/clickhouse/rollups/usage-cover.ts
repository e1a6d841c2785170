import { groupBy } from '../../collections/group-by.ts'
import { monthAfter, monthOf } from '../../domain/month.ts'
import type { TimeRange } from '../../domain/time-range.ts'

export const DAY_S = 86_400

/**
 * Slots of days younger than this are read and kept as slots; they are stored for 40 days, which leaves a wide
 * margin.
 */
export const SLOTS_READ_FOR_DAYS = 33

/**
 * Totals of all accounts by slot are read for this many days, today included: a day that has ended has a total of its
 * own. Services keep those of one day more (slotTotalsKeptFrom). They compute them from usage_by_slot_by_time, to
 * which slots of today and of three days before are copied. That table and usage_by_slot_total keep their rows for
 * five days.
 */
const SLOT_TOTALS_READ_FOR_DAYS = 2

/**
 * A run of months is read if it is at least this long: the days of a shorter one cost less than reading one more
 * table.
 */
const MONTHS_MIN_S = 180 * DAY_S

/**
 * At most so many runs of months, the longest ones: each needs a condition of its own that excludes it from the days.
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
  /** No usage is known before this month, whose start it is; Infinity when there are no months. */
  monthsFrom: number
  /** Starts of slots that may lack events. */
  dirtySlots: readonly number[]
  /** Starts of days that may lack events anywhere. */
  dirtyDays: readonly number[]
}

/** Where each second of a range is read: in exactly one place. */
export interface UsageCover {
  /** Whole months from usage_by_month: runs of them, in order; no two of them touch. */
  months: TimeRange[]
  /** Whole days from usage_by_day: those in between, without the months and without some exceptions. */
  days: (TimeRange & { except: number[] }) | undefined
  /**
   * Whole slots from usage_by_slot, or their totals: those of these days within the range, without some exceptions.
   */
  slots: (TimeRange & { days: number[]; except: number[] }) | undefined
  /** The rest, from the events: ranges, whole slots and whole days; no two of them overlap or touch. */
  events: { ranges: TimeRange[]; slots: number[]; days: number[] }
}

/** The start of the day a second lies in. */
export const dayOf = (second: number): number => second - (second % DAY_S)

/** The first day whose slots are read. @param now Unix seconds */
export const oldestSlotDay = (now: number): number => dayOf(now) - SLOTS_READ_FOR_DAYS * DAY_S

/** The first day whose slots are read as totals of all accounts. @param now Unix seconds */
export const oldestSlotTotalsDay = (now: number): number =>
  dayOf(now) - (SLOT_TOTALS_READ_FOR_DAYS - 1) * DAY_S

/** What decides where usage is read, besides the range. */
export interface CoverOptions {
  /**
   * Unix seconds at which usage is split: nothing that is read as one contains one of these inside. A day that
   * contains one is read by slots, and a slot that contains one from the events.
   */
  cuts?: readonly number[]
  /**
   * Whether months may be read; otherwise days are, for readers that need single days or that read totals of all
   * accounts.
   */
  hasMonths?: boolean
}

/**
 * Decides where usage of a range is read: from months and days where they are whole, closed and clean, then from
 * slots, then from the events.
 */
export function coverUsage(
  { startAt, endAt }: TimeRange,
  state: RollupState,
  { cuts = [], hasMonths = true }: CoverOptions = {},
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
  // Days before the first month with usage cost nothing, and a history of weeks is not worth one more table.
  const withMonths = { startAt: Math.max(firstDay, state.monthsFrom), endAt: endDay }
  const months = hasMonths ? wholeMonths(withMonths, splits) : []
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
 * Runs of whole months of a range that contain none of these seconds inside; empty when they are too short in total.
 *
 * @param splits seconds, in any order
 */
function wholeMonths({ startAt, endAt }: TimeRange, splits: readonly number[]): TimeRange[] {
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
  return secondsOf(longest) < MONTHS_MIN_S ? [] : longest.sort((a, b) => a.startAt - b.startAt)
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
