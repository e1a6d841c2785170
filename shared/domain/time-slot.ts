/** Usage is stored and read by time slots of five minutes, in seconds. */
const SLOT_S = 300

/** The last second that a 32-bit time can hold. */
export const LAST_SECOND = 2 ** 32 - 1

/** The start of the slot a second lies in, as Unix time. */
export const slotOf = (second: number): number => second - (second % SLOT_S)

/** A half-open range of Unix seconds: startAt lies in it, endAt does not. */
export interface TimeRange {
  startAt: number
  endAt: number
}

/** The start of the slot after one. */
export const slotAfter = (slot: number): number => slot + SLOT_S

/** From the start of the first slot that a range lies in to the end of the last. */
export const rangeOfSlots = ({ startAt, endAt }: TimeRange): TimeRange => ({
  startAt: slotOf(startAt),
  endAt: slotAfter(slotOf(endAt - 1)),
})

/** How many slots there are in a range of whole slots. */
export const countSlots = ({ startAt, endAt }: TimeRange): number => (endAt - startAt) / SLOT_S

/** Cuts a range to the seconds that usage can lie in, so that ClickHouse has nothing to clamp. */
export const clampRange = ({ startAt, endAt }: TimeRange): TimeRange => ({
  startAt: Math.min(Math.max(startAt, 0), LAST_SECOND),
  endAt: Math.min(Math.max(endAt, 0), LAST_SECOND),
})

/** All the time that usage can lie in. */
export const ALL_TIME: TimeRange = { startAt: 0, endAt: LAST_SECOND }
