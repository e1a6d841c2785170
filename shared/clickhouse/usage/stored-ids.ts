/** The most ids that are remembered: almost a minute of live usage at 10,000 events a second. */
const IDS_MAX = 500_000
/** The most buckets: a day of live usage. An import of history would fill many more, with a few ids each. */
const BUCKETS_MAX = 10_000
/** Ids of events that occurred in the same interval of this many seconds are in one bucket. */
const BUCKET_S = 10

export type StoredIds = ReturnType<typeof storedIds>

/**
 * Remembers which events may be stored already, by their ids and times. An event that it calls new is certainly not
 * stored: all events that occurred since `completeFrom` were added here before they were stored. But it may fail to
 * call a new event new.
 *
 * @param emptyFrom Unix seconds; no event that occurred at or after this is stored yet
 */
export function storedIds(emptyFrom: number) {
  let completeFrom = emptyFrom
  let size = 0
  const buckets = new Map<number, Set<number>>()
  /** Forgets the earlier half of the buckets, so that they need not be sorted often. */
  const forgetOldest = () => {
    const oldest = [...buckets.keys()].sort((a, b) => a - b).slice(0, Math.ceil(buckets.size / 2))
    for (const nth of oldest) {
      size -= buckets.get(nth)?.size ?? 0
      buckets.delete(nth)
      completeFrom = Math.max(completeFrom, (nth + 1) * BUCKET_S)
    }
  }
  return {
    /** Unix seconds. An event that occurred before this is never called new, so it need not be added. */
    get completeFrom() {
      return completeFrom
    },

    /**
     * Remembers an event that is about to be stored.
     *
     * @param identity identityNumber of its id
     * @returns whether it is new for certain
     */
    add(occurredAt: number, identity: number): boolean {
      if (occurredAt < completeFrom) return false
      const nth = Math.floor(occurredAt / BUCKET_S)
      const bucket = buckets.get(nth) ?? new Set<number>()
      buckets.set(nth, bucket)
      const before = bucket.size
      bucket.add(identity)
      if (bucket.size === before) return false
      if (++size > IDS_MAX || buckets.size > BUCKETS_MAX) forgetOldest()
      return true
    },
  }
}
