/** Semaphores by name, each for so many at once, in the order they come. */
export interface NamedSemaphores {
  /**
   * @param ms how long to wait for it
   * @returns what releases it; undefined when it was not free in time
   */
  acquire(name: string, ms: number): Promise<(() => void) | undefined>
}

interface Queue {
  taken: number
  waiting: Set<() => void>
}

/** Within this process, so that nobody takes all there is of what many share. */
export function namedSemaphores(atOnce: number): NamedSemaphores {
  const queues = new Map<string, Queue>()
  const release = (name: string, queue: Queue) => {
    const [next] = queue.waiting
    if (next !== undefined) {
      queue.waiting.delete(next)
      next() // it passes on as it is
    } else if (--queue.taken === 0) queues.delete(name)
  }
  const queueUp = (queue: Queue, ms: number): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => {
        queue.waiting.delete(mine)
        resolve(false)
      }, ms)
      const mine = () => {
        clearTimeout(timer)
        resolve(true)
      }
      queue.waiting.add(mine)
    })
  return {
    async acquire(name, ms) {
      const queue = queues.get(name) ?? { taken: 0, waiting: new Set() }
      queues.set(name, queue)
      if (queue.taken < atOnce) queue.taken++
      else if (!(await queueUp(queue, ms))) return undefined
      return () => {
        release(name, queue)
      }
    },
  }
}
