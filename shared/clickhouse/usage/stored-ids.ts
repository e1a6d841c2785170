/** So many ids are remembered: of live usage at 10,000 events a second those of a minute, in some 25 MB. */
const IDS_MAX = 500_000
/** Seconds of time of occurrence that are forgotten together. */
const BUCKET_S = 10
/** `event_`, and eight digits of the time. @see usageEventId */
const DIGEST_AT = 14
/** Hexadecimal digits of the rest of an id that a number holds exactly. */
const DIGEST_DIGITS = 12

export type StoredIds = ReturnType<typeof storedIds>

/**
 * Which events may have been stored before, by their ids and times. It errs on one side alone: what it calls new was
 * never given to it and never stored, as an event of that time is remembered, or was not there when this began.
 *
 * @param emptyFrom Unix seconds from which on no event is stored yet, by its time of occurrence
 */
export function storedIds(emptyFrom: number) {
  let completeFrom = emptyFrom
  let size = 0
  const buckets = new Map<number, Set<number>>()
  const forgetOldest = () => {
    const oldest = Math.min(...buckets.keys())
    size -= buckets.get(oldest)?.size ?? 0
    buckets.delete(oldest)
    completeFrom = Math.max(completeFrom, (oldest + 1) * BUCKET_S)
  }
  return {
    /** Unix seconds: an event that occurred before is never called new, and need not be given. */
    get completeFrom() {
      return completeFrom
    },

    /** Remembers an event that is about to be stored. @returns whether it is new for certain */
    add(occurredAt: number, eventId: string): boolean {
      if (occurredAt < completeFrom) return false
      const nth = Math.floor(occurredAt / BUCKET_S)
      const bucket = buckets.get(nth) ?? new Set<number>()
      buckets.set(nth, bucket)
      const before = bucket.size
      bucket.add(parseInt(eventId.slice(DIGEST_AT, DIGEST_AT + DIGEST_DIGITS), 16))
      if (bucket.size === before) return false
      if (++size > IDS_MAX) forgetOldest()
      return true
    },
  }
}
