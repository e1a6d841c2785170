/** So many ids are remembered: of live usage at 10,000 events a second those of a minute, in some 25 MB. */
const IDS_MAX = 500_000
/** Buckets that have some: of live usage a day. An import of history would fill many more with a few ids each. */
const BUCKETS_MAX = 10_000
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
  /** Half of the buckets, so that sorting them is seldom. */
  const forgetOldest = () => {
    const oldest = [...buckets.keys()].sort((a, b) => a - b).slice(0, Math.ceil(buckets.size / 2))
    for (const nth of oldest) {
      size -= buckets.get(nth)?.size ?? 0
      buckets.delete(nth)
      completeFrom = Math.max(completeFrom, (nth + 1) * BUCKET_S)
    }
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
      if (++size > IDS_MAX || buckets.size > BUCKETS_MAX) forgetOldest()
      return true
    },
  }
}
