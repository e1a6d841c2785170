/**
 * The length of a key bucket in seconds. The sorting key of usage_events has, after the namespace, the five minutes in
 * which an event occurred (toStartOfFiveMinutes).
 */
export const KEY_BUCKET_S = 300

/** The length of a UTC day in seconds. */
export const DAY_S = 86_400

/** The last second that a 32-bit time can hold. */
export const LAST_SECOND = 2 ** 32 - 1

/** The start of the key bucket that contains a second, as Unix time. */
export const keyBucketOf = (second: number): number => second - (second % KEY_BUCKET_S)

/** A half-open range of Unix seconds: startAt is included, endAt is not. */
export interface TimeRange {
  startAt: number
  endAt: number
}

/** Cuts a range to the seconds that usage can have. The times of ClickHouse have 32 bits and no sign. */
export const clampRange = ({ startAt, endAt }: TimeRange): TimeRange => ({
  startAt: Math.min(Math.max(startAt, 0), LAST_SECOND),
  endAt: Math.min(Math.max(endAt, 0), LAST_SECOND),
})

/** The common part of two half-open ranges, or undefined when there is none. */
export function intersect(a: TimeRange, b: TimeRange): TimeRange | undefined {
  const startAt = Math.max(a.startAt, b.startAt)
  const endAt = Math.min(a.endAt, b.endAt)
  return startAt < endAt ? { startAt, endAt } : undefined
}

/** All seconds that usage can have. */
export const ALL_TIME: TimeRange = { startAt: 0, endAt: LAST_SECOND }
