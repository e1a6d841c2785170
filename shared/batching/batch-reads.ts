import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

export interface Batching {
  /** The largest number of different reads in a batch. */
  atMost: number
  /** The largest number of batches under way. A batch that takes longer than slowAfterMs does not count any more. */
  atOnce: number
  slowAfterMs: number
}

/** Reads the answer for one key. Several reads may share a batch. */
export type BatchedRead<Key, Answer> = (key: Key) => Promise<Answer>

/**
 * Lets reads that arrive together share a batch: a batch of a hundred reads costs little more than a batch of one.
 * Reads that arrive while `atOnce` batches are under way form the next batch. Otherwise a batch begins at once, with
 * all reads that arrive in the same turn of the event loop. A slow batch delays other batches no longer than
 * slowAfterMs.
 *
 * No answer is older than its read: a read joins a batch only before `ask` is called for the batch, and each answer
 * goes only to the reads of its own batch. Nothing is cached. When a batch fails, only the reads in the batch fail.
 *
 * @param nameOf reads with the same name are one key in a batch
 * @param ask answers a batch: it returns the answer for each key, in the order of the keys
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
  /** Counts a batch as under way. @returns a function that ends this; after slowAfterMs, it ends by itself */
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

/** The largest number of groups that are remembered. For a forgotten group, batching starts again. */
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
