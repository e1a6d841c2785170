export interface WorkQueueOptions {
  /** At work at once. */
  atOnce: number
  /** In the queue; more are turned away at once. */
  waitingMax: number
  /** How long one may wait. */
  waitMs: number
  /** The error of who is turned away; the reason is a clause. */
  turnedAway: (reason: string) => Error
}

const GONE = 'the client has gone'

interface Waiting {
  go: () => void
  turnAway: (reason: string) => void
}

/** Lets a bounded number work at once, in the order they came, and a bounded number wait for a bounded time. */
export class WorkQueue {
  private readonly options: WorkQueueOptions
  /** How many are at work now. */
  atWork = 0
  private closed = false
  private readonly queue = new Set<Waiting>()

  constructor(options: WorkQueueOptions) {
    this.options = options
  }

  /**
   * Does work once there is a place for it.
   *
   * @param signal gives up the place in the queue
   * @throws Error the turnedAway of the options
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { turnedAway } = this.options
    if (this.closed) throw turnedAway('it is stopping')
    if (signal?.aborted === true) throw turnedAway(GONE) // it never tells that again
    if (this.atWork >= this.options.atOnce) await this.wait(signal)
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
    for (const { turnAway } of [...this.queue]) turnAway('it is stopping')
  }

  private wait(signal?: AbortSignal): Promise<void> {
    const { waitingMax, waitMs, turnedAway } = this.options
    if (this.queue.size >= waitingMax) throw turnedAway('too many queries are waiting')
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => {
        this.queue.delete(waiting)
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
      this.queue.add(waiting)
    })
  }

  /** Whoever waited longest takes over the place of the one that has ended. */
  private passOn(): void {
    const [next] = this.queue
    if (next === undefined) this.atWork--
    else next.go()
  }
}
