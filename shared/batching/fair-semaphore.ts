export interface FairSemaphoreOptions {
  /** At work at once. */
  atOnce: number
  /** … of one tenant, also while permits are free; undefined: as many as of all. */
  atOnceOfOne?: number
  /** In the queue; of more, one is rejected at once. */
  waitingMax: number
  /** … of one tenant; undefined: as many as of all. */
  waitingMaxOfOne?: number
  /** How long one may wait. */
  waitMs: number
  /** The error of who is rejected; the reason is a clause. */
  rejection: (reason: string) => Error
}

const GONE = 'the client has gone'
const TOO_MANY = 'too many queries are waiting'

/** Who asks for a permit, and how the wait ends. */
export interface PermitRequest {
  /** A free permit goes to the waiting tenant who has fewest permits. All are one if it is left out. */
  tenant?: string
  /** Ends the wait. */
  signal?: AbortSignal | undefined
  /** How long this one may wait, in place of what the semaphore says. */
  waitMs?: number
}

interface Waiting {
  go: () => void
  reject: (reason: string) => void
}

/**
 * Lets a bounded number work at once, and a bounded number wait for a bounded time. Whoever asks for much waits for
 * themselves: a permit that becomes free goes to the tenant who has fewest, in turn where several have as few, and to
 * those of one tenant in the order they came; nobody has more than atOnceOfOne. When the queue is full, the tenant with
 * the longest queue loses its last request to the one who comes, if it still has more waiting than that one's then has;
 * otherwise who comes is rejected.
 *
 * With a name as tenant, any number at once and one of each name, it is a lock for each name.
 */
export class FairSemaphore {
  private readonly options: FairSemaphoreOptions
  /** By tenant, none of them 0. */
  private readonly working = new Map<string, number>()
  private count = 0
  private closed = false
  /** By tenant, none of them empty. Their order decides between tenants with as many permits. */
  private readonly queues = new Map<string, Set<Waiting>>()
  private waiting = 0

  constructor(options: FairSemaphoreOptions) {
    this.options = options
  }

  /**
   * Does work once there is a permit for it.
   *
   * @throws Error the rejection of the options
   */
  async run<T>(work: () => Promise<T>, request: PermitRequest = {}): Promise<T> {
    const release = await this.acquire(request)
    try {
      return await work()
    } finally {
      release()
    }
  }

  /**
   * Waits for a permit.
   *
   * @returns gives it back; to be called once
   * @throws Error the rejection of the options
   */
  async acquire({ tenant = '', signal, waitMs }: PermitRequest = {}): Promise<() => void> {
    const { rejection } = this.options
    if (this.closed) throw rejection('it is stopping')
    if (signal?.aborted === true) throw rejection(GONE) // the event does not come again
    if (this.isFreeFor(tenant)) this.begin(tenant)
    else await this.wait(tenant, waitMs ?? this.options.waitMs, signal)
    return () => {
      this.end(tenant)
      this.passOn()
    }
  }

  /** How many are at work now. */
  get atWork(): number {
    return this.count
  }

  /** How many wait now. */
  get queued(): number {
    return this.waiting
  }

  /** While a permit is free, who waits has as many as one tenant may: nobody is overtaken by who comes. */
  private isFreeFor(tenant: string): boolean {
    const { atOnce } = this.options
    return this.count < atOnce && this.mayHaveMore(tenant)
  }

  private mayHaveMore(tenant: string): boolean {
    const { atOnce, atOnceOfOne = atOnce } = this.options
    return (this.working.get(tenant) ?? 0) < atOnceOfOne
  }

  private begin(tenant: string): void {
    this.working.set(tenant, (this.working.get(tenant) ?? 0) + 1)
    this.count++
  }

  private end(tenant: string): void {
    const left = (this.working.get(tenant) ?? 0) - 1
    if (left > 0) this.working.set(tenant, left)
    else this.working.delete(tenant)
    this.count--
  }

  /** Turns everybody away who waits or comes. */
  close(): void {
    this.closed = true
    for (const { reject } of [...this.queues.values()].flatMap((queue) => [...queue]))
      reject('it is stopping')
  }

  private wait(tenant: string, waitMs: number, signal?: AbortSignal): Promise<void> {
    const { waitingMax, waitingMaxOfOne = waitingMax, rejection } = this.options
    const queue = this.queues.get(tenant) ?? new Set()
    if (queue.size >= waitingMaxOfOne) throw rejection(TOO_MANY)
    if (this.waiting >= waitingMax) {
      const [longest] = [...this.queues.values()].sort((a, b) => b.size - a.size)
      const last = [...(longest ?? [])].at(-1)
      if (last === undefined || (longest?.size ?? 0) <= queue.size + 1) throw rejection(TOO_MANY)
      last.reject(TOO_MANY)
    }
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => {
        queue.delete(waiting)
        this.waiting--
        if (queue.size === 0) this.queues.delete(tenant)
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
        then()
      }
      const waiting: Waiting = {
        go: () => {
          this.begin(tenant) // at once: nobody else takes the permit before its work begins
          settle(resolve)
        },
        reject: (reason) => {
          settle(() => {
            reject(rejection(reason))
          })
        },
      }
      const leave = () => {
        waiting.reject(GONE)
      }
      const timer = setTimeout(() => {
        waiting.reject(`no turn within ${waitMs} ms`)
      }, waitMs)
      signal?.addEventListener('abort', leave)
      queue.add(waiting)
      this.queues.set(tenant, queue)
      this.waiting++
    })
  }

  /** The first of the tenant who has fewest permits, and may have more, takes over the one that has become free. */
  private passOn(): void {
    let next: { tenant: string; queue: Set<Waiting>; has: number } | undefined
    for (const [tenant, queue] of this.queues) {
      const has = this.working.get(tenant) ?? 0
      // Of those with as few the first.
      if (this.mayHaveMore(tenant) && has < (next?.has ?? Infinity)) next = { tenant, queue, has }
    }
    if (next === undefined) return
    // To the end: all others with as few come first the next time.
    this.queues.delete(next.tenant)
    this.queues.set(next.tenant, next.queue)
    const [first] = next.queue // none of the queues is empty
    first?.go()
  }
}
