export interface WorkQueueOptions {
  /** At work at once. */
  atOnce: number
  /** In the queue; more are turned away at once. */
  waitingMax: number
  /** … of one asker; undefined: as many as of all. */
  waitingMaxOfOne?: number
  /** How long one may wait. */
  waitMs: number
  /** The error of who is turned away; the reason is a clause. */
  turnedAway: (reason: string) => Error
}

const GONE = 'the client has gone'

/** For whom work is done. */
export interface AskedFor {
  /** Who asks: places go round among those who wait. All are one if it is left out. */
  asker?: string
  /** Gives up the place in the queue. */
  signal?: AbortSignal | undefined
}

interface Waiting {
  go: () => void
  turnAway: (reason: string) => void
}

/**
 * Lets a bounded number work at once, and a bounded number wait for a bounded time. Whoever asks for much waits for themselves: each
 * asker that waits is given a place in turn, and those of one asker in the order they came.
 */
export class WorkQueue {
  private readonly options: WorkQueueOptions
  /** How many are at work now. */
  atWork = 0
  private closed = false
  /** By asker, none of them empty, in the order in which they are given places. */
  private readonly queues = new Map<string, Set<Waiting>>()
  private waiting = 0

  constructor(options: WorkQueueOptions) {
    this.options = options
  }

  /**
   * Does work once there is a place for it.
   *
   * @throws Error the turnedAway of the options
   */
  async run<T>(work: () => Promise<T>, { asker = '', signal }: AskedFor = {}): Promise<T> {
    const { turnedAway } = this.options
    if (this.closed) throw turnedAway('it is stopping')
    if (signal?.aborted === true) throw turnedAway(GONE) // it never tells that again
    if (this.atWork >= this.options.atOnce) await this.wait(asker, signal)
    else this.atWork++
    try {
      return await work()
    } finally {
      this.passOn()
    }
  }

  /** Turns everybody away who waits or comes. */
  close(): void {
    this.closed = true
    for (const { turnAway } of [...this.queues.values()].flatMap((queue) => [...queue]))
      turnAway('it is stopping')
  }

  private wait(asker: string, signal?: AbortSignal): Promise<void> {
    const { waitingMax, waitingMaxOfOne = waitingMax, waitMs, turnedAway } = this.options
    const queue = this.queues.get(asker) ?? new Set()
    if (this.waiting >= waitingMax || queue.size >= waitingMaxOfOne)
      throw turnedAway('too many queries are waiting')
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => {
        queue.delete(waiting)
        this.waiting--
        if (queue.size === 0) this.queues.delete(asker)
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
        then()
      }
      const waiting: Waiting = {
        go: () => {
          settle(resolve)
        },
        turnAway: (reason) => {
          settle(() => {
            reject(turnedAway(reason))
          })
        },
      }
      const leave = () => {
        waiting.turnAway(GONE)
      }
      const timer = setTimeout(() => {
        waiting.turnAway(`no place within ${waitMs} ms`)
      }, waitMs)
      signal?.addEventListener('abort', leave)
      queue.add(waiting)
      this.queues.set(asker, queue)
      this.waiting++
    })
  }

  /** The next asker's first takes over the place of the one that has ended. */
  private passOn(): void {
    const [first] = this.queues
    if (first === undefined) {
      this.atWork--
      return
    }
    const [asker, queue] = first
    const [next] = queue
    // To the end: all others come first the next time.
    this.queues.delete(asker)
    this.queues.set(asker, queue)
    next?.go()
  }
}
