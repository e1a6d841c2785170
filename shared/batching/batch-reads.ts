import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

export interface Batching {
  /** So many different reads share a batch at most. */
  atMost: number
  /** So many batches are under way at a time; one that takes longer than slowAfterMs does not count any more. */
  atOnce: number
  slowAfterMs: number
}

/** Reads one of many things, in a batch that it may share with others. */
export type BatchedRead<Key, Answer> = (key: Key) => Promise<Answer>

/**
 * Reads that arrive together share a batch: a batch about a hundred things costs little more than one about one. What
 * arrives while a batch is under way is asked in the next one, all of it at once; when none is, it is asked right away,
 * with whatever else arrives in the same turn of the event loop. A slow batch holds up others no longer than
 * slowAfterMs.
 *
 * No answer is older than its read: a read joins a batch only before that is asked, and each answer goes to the reads
 * of its own batch; nothing is kept. A batch that fails is the failure of the reads in it alone.
 *
 * @param nameOf reads of the same name are one to a batch
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
  /** @returns gives it back; it is given back by itself after slowAfterMs */
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
      loader.clearAll() // from here on the same reads are of another batch
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

/** Groups whose batches are known at a time; one that is forgotten begins anew. */
const GROUPS_MAX = 10_000

/** The same for reads of many groups: those of one share batches, and have nothing to do with those of another. */
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
