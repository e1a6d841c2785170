/** The maximum number of ids that are remembered: almost a minute of live usage at 10,000 events a second. */
const IDS_MAX = 500_000
/**
 * The maximum number of buckets: a day of live usage. An import of history would fill many more, with a few ids each.
 */
const BUCKETS_MAX = 10_000
/** Ids of events that occurred in the same interval of this many seconds are in one bucket. */
const BUCKET_S = 10

export type StoredIds = ReturnType<typeof storedIds>

/**
 * Remembers which events may be stored already, by their ids and times. If `add` returns true, the event is certainly
 * new: every stored event that occurred at or after `completeFrom` was added here before it was stored. If `add`
 * returns false, the event may be stored or new.
 *
 * @param emptyFrom Unix seconds; no event that occurred at or after this is stored yet
 */
export function storedIds(emptyFrom: number) {
  let completeFrom = emptyFrom
  let size = 0
  const buckets = new Map<number, Set<number>>()
  /** Forgets the earlier half of the buckets at once, so that the buckets need not be sorted often. */
  const forgetOldest = () => {
    const oldest = [...buckets.keys()].sort((a, b) => a - b).slice(0, Math.ceil(buckets.size / 2))
    for (const nth of oldest) {
      size -= buckets.get(nth)?.size ?? 0
      buckets.delete(nth)
      completeFrom = Math.max(completeFrom, (nth + 1) * BUCKET_S)
    }
  }
  return {
    /** Unix seconds. For an event that occurred earlier, `add` always returns false, so a call is not needed. */
    get completeFrom() {
      return completeFrom
    },

    /**
     * Remembers an event that is about to be stored.
     *
     * @param identity identityNumber of its id
     * @returns whether the event is certainly new
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
