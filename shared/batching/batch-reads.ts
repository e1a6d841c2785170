import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

export interface Batching {
  /** The most different reads that share a batch. */
  atMost: number
  /** The most batches that are under way at a time; a batch that takes longer than slowAfterMs no longer counts. */
  atOnce: number
  slowAfterMs: number
}

/** Reads one thing, in a batch that it may share with others. */
export type BatchedRead<Key, Answer> = (key: Key) => Promise<Answer>

/**
 * Lets reads that arrive together share a batch: a batch of a hundred reads costs little more than a batch of one.
 * Reads that arrive while `atOnce` batches are under way form the next batch. Otherwise a read is asked right away,
 * with all others that arrive in the same turn of the event loop. A slow batch delays others no longer than
 * slowAfterMs.
 *
 * No answer is older than its read: a read joins a batch only before the batch is asked, and each answer goes only to
 * the reads of its own batch. Nothing is cached. When a batch fails, only the reads in it fail.
 *
 * @param nameOf reads with the same name are asked once in a batch
 * @param ask answers a batch: for each key its answer, in the same order
 */
export function batchReads<Key, Answer>(
  nameOf: (key: Key) => string,
  ask: (keys: readonly Key[]) => Promise<readonly Answer[]>,
  { atMost, atOnce, slowAfterMs }: Batching,
): BatchedRead<Key, Answer> {
  const waiting: (() => void)[] = []
  let underWay = 0
  const askNext = () => {
    while (underWay < atOnce) {
      const begin = waiting.shift()
      if (begin === undefined) return
      begin()
    }
  }
  /** @returns a function that gives the place back; after slowAfterMs, the place is given back without it */
  const takePlace = (): (() => void) => {
    let isHeld = true
    underWay++
    const leave = () => {
      if (!isHeld) return
      isHeld = false
      clearTimeout(timer)
      underWay--
      askNext()
    }
    const timer = setTimeout(leave, slowAfterMs)
    return leave
  }
  const loader = new DataLoader<Key, Answer, string>(
    async (keys) => {
      loader.clearAll() // from here on the same reads go into the next batch
      const leave = takePlace()
      try {
        return await ask(keys)
      } finally {
        leave()
      }
    },
    {
      cacheKeyFn: nameOf,
      maxBatchSize: atMost,
      batchScheduleFn(begin) {
        waiting.push(begin)
        setImmediate(askNext)
      },
    },
  )
  return (key) => loader.load(key)
}

/** The most groups whose batches are remembered; a forgotten group starts again. */
const GROUPS_MAX = 10_000

/** Batches reads of many groups: the reads of one group share batches, independently of other groups. */
export function batchReadsByGroup<Key, Answer>(
  groupOf: (key: Key) => string,
  nameOf: (key: Key) => string,
  ask: (keys: readonly Key[]) => Promise<readonly Answer[]>,
  batching: Batching,
): BatchedRead<Key, Answer> {
  const groups = new LRUCache<string, BatchedRead<Key, Answer>>({ max: GROUPS_MAX })
  return (key) => {
    const group = groupOf(key)
    const read = groups.get(group) ?? batchReads(nameOf, ask, batching)
    groups.set(group, read)
    return read(key)
  }
}
