/** Turns by name, so many at once of each name; whoever comes first has one first. */
export interface Turns {
  /**
   * @param ms how long to wait for one
   * @returns what gives it back; undefined when none came in time
   */
  take(name: string, ms: number): Promise<(() => void) | undefined>
}

interface Queue {
  taken: number
  waiting: Set<() => void>
}

/** Turns within this process, so that nobody takes all there is of what many share. */
export function turns(atOnce: number): Turns {
  const queues = new Map<string, Queue>()
  const giveBack = (name: string, queue: Queue) => {
    const [next] = queue.waiting
    if (next !== undefined) {
      queue.waiting.delete(next)
      next() // the turn passes on as it is
    } else if (--queue.taken === 0) queues.delete(name)
  }
  const queueUp = (queue: Queue, ms: number): Promise<boolean> =>
    new Promise((resolve) => {
      const late = setTimeout(() => {
        queue.waiting.delete(mine)
        resolve(false)
      }, ms)
      const mine = () => {
        clearTimeout(late)
        resolve(true)
      }
      queue.waiting.add(mine)
    })
  return {
    async take(name, ms) {
      const queue = queues.get(name) ?? { taken: 0, waiting: new Set() }
      queues.set(name, queue)
      if (queue.taken < atOnce) queue.taken++
      else if (!(await queueUp(queue, ms))) return undefined
      return () => {
        giveBack(name, queue)
      }
    },
  }
}
