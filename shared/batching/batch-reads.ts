import DataLoader from 'dataloader'

export interface Batching {
  /** So many reads share a question at most. */
  atMost: number
  /** So many questions are under way at a time … */
  atOnce: number
  /** … but for reads that have waited for so long: a slow question holds up nobody but those in it. */
  patienceMs: number
}

/** Reads one of many things, in a question that it may share with others. */
export type BatchedRead<Key, Answer> = (key: Key) => Promise<Answer>

/**
 * Reads that arrive together share a question: a question about a hundred things costs little more than one about one. What arrives
 * while a question is under way is asked in the next one, all of it at once; when none is, it is asked right away, with whatever
 * else arrives in the same turn of the event loop.
 *
 * No answer is older than its read: a read joins a question only before that is asked, and each answer goes to the reads of
 * its own question; nothing is kept. A question that fails is the failure of the reads in it alone.
 *
 * @param ask answers a question: for each key its answer, in the same order
 */
export function batchReads<Key, Answer>(
  ask: (keys: readonly Key[]) => Promise<readonly Answer[]>,
  { atMost, atOnce, patienceMs }: Batching,
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
  const questions = new DataLoader<Key, Answer>(
    async (keys) => {
      underWay++
      try {
        return await ask(keys)
      } finally {
        underWay--
        askNext()
      }
    },
    {
      cache: false,
      maxBatchSize: atMost,
      batchScheduleFn(dispatch) {
        const begin = () => {
          clearTimeout(late)
          dispatch()
        }
        const late = setTimeout(() => {
          waiting.splice(waiting.indexOf(begin), 1)
          begin()
        }, patienceMs)
        waiting.push(begin)
        setImmediate(askNext)
      },
    },
  )
  return (key) => questions.load(key)
}
