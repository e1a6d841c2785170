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
const TOO_MANY = 'too many queries are waiting'

/** Who asks for a place, and how it is given up. */
export interface PlaceRequest {
  /** A free place goes to whoever of those who wait has fewest. All are one if it is left out. */
  asker?: string
  /** Gives up the place in the queue. */
  signal?: AbortSignal | undefined
}

interface Waiting {
  go: () => void
  turnAway: (reason: string) => void
}

/**
 * Lets a bounded number work at once, and a bounded number wait for a bounded time. Whoever asks for much waits for themselves: a place
 * that becomes free goes to the asker who has fewest, in turn where several have as few, and to those of one asker in the order they came.
 * Where too many wait, the last of whoever has most waiting is turned away for one who has less.
 */
export class WorkQueue {
  private readonly options: WorkQueueOptions
  /** By asker, none of them 0. */
  private readonly working = new Map<string, number>()
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
  async run<T>(work: () => Promise<T>, { asker = '', signal }: PlaceRequest = {}): Promise<T> {
    const { turnedAway } = this.options
    if (this.closed) throw turnedAway('it is stopping')
    if (signal?.aborted === true) throw turnedAway(GONE) // it never tells that again
    if (this.atWork >= this.options.atOnce) await this.wait(asker, signal)
    else this.begin(asker)
    try {
      return await work()
    } finally {
      this.end(asker)
      this.passOn()
    }
  }

  /** How many are at work now. */
  get atWork(): number {
    return [...this.working.values()].reduce((sum, count) => sum + count, 0)
  }

  private begin(asker: string): void {
    this.working.set(asker, (this.working.get(asker) ?? 0) + 1)
  }

  private end(asker: string): void {
    const left = (this.working.get(asker) ?? 0) - 1
    if (left > 0) this.working.set(asker, left)
    else this.working.delete(asker)
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
    if (queue.size >= waitingMaxOfOne) throw turnedAway(TOO_MANY)
    if (this.waiting >= waitingMax) {
      const [longest] = [...this.queues.values()].sort((a, b) => b.size - a.size)
      const last = [...(longest ?? [])].at(-1)
      if (last === undefined || (longest?.size ?? 0) <= queue.size + 1) throw turnedAway(TOO_MANY)
      last.turnAway(TOO_MANY)
    }
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
          this.begin(asker) // at once: nobody else takes the place before its work begins
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

  /** The first of the asker who has fewest places takes over the one that has become free. */
  private passOn(): void {
    const has = (asker: string) => this.working.get(asker) ?? 0
    const [asker] = [...this.queues.keys()].sort((a, b) => has(a) - has(b)) // those with as few stay in order
    const queue = asker === undefined ? undefined : this.queues.get(asker)
    if (asker === undefined || queue === undefined) return
    // To the end: all others with as few come first the next time.
    this.queues.delete(asker)
    this.queues.set(asker, queue)
    const [first] = queue // none of the queues is empty
    first?.go()
  }
}
