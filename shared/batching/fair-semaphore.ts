export interface FairSemaphoreOptions {
  /** The most permits at once. */
  atOnce: number
  /** The most permits of one tenant, even while permits are free; undefined: atOnce. */
  atOnceOfOne?: number
  /** The longest queue; further requests are rejected at once. */
  waitingMax: number
  /** The longest queue of one tenant; undefined: waitingMax. */
  waitingMaxOfOne?: number
  /** The longest time that a request may wait. */
  waitMs: number
  /** Makes the error of a rejected request; the reason is a clause. */
  rejection: (reason: string) => Error
}

const GONE = 'the client has gone'
const TOO_MANY = 'too many queries are waiting'

/** A request for a permit, and how its wait ends. */
export interface PermitRequest {
  /**
   * A free permit goes to the waiting tenant that has the fewest permits. Requests without a tenant share one tenant.
   */
  tenant?: string
  /** Ends the wait. */
  signal?: AbortSignal | undefined
  /** The longest time that this request may wait, instead of the semaphore's. */
  waitMs?: number
}

interface Waiting {
  go: () => void
  reject: (reason: string) => void
}

/**
 * Limits how many requests work at once, how many wait, and how long they wait. A tenant with many requests delays only
 * itself: a free permit goes to the waiting tenant that has the fewest permits. Tenants with equally many permits take
 * turns, and one tenant's requests go in order of arrival. No tenant has more than atOnceOfOne. When waitingMax
 * requests wait, a new request takes the place of the last request in the longest queue. That happens only if this
 * queue is longer than the new request's own queue would be; otherwise the new request is rejected.
 *
 * With a name as tenant, no limit for all and one permit for each name, it is a lock for each name.
 */
export class FairSemaphore {
  private readonly options: FairSemaphoreOptions
  /** Permits by tenant; none of them is 0. */
  private readonly working = new Map<string, number>()
  private count = 0
  private closed = false
  /** Queues by tenant; none of them is empty. Their order decides between tenants with equally many permits. */
  private readonly queues = new Map<string, Set<Waiting>>()
  private waiting = 0

  constructor(options: FairSemaphoreOptions) {
    this.options = options
  }

  /**
   * Does work once there is a permit for it.
   *
   * @throws Error the options' rejection
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
   * @returns a function that gives the permit back; it must be called once
   * @throws Error the options' rejection
   */
  async acquire({ tenant = '', signal, waitMs }: PermitRequest = {}): Promise<() => void> {
    const { rejection } = this.options
    if (this.closed) throw rejection('it is stopping')
    if (signal?.aborted === true) throw rejection(GONE) // `abort` is not emitted again
    if (this.isFreeFor(tenant)) this.begin(tenant)
    else await this.wait(tenant, waitMs ?? this.options.waitMs, signal)
    return () => {
      this.end(tenant)
      this.passOn()
    }
  }

  /** The number of permits in use. */
  get atWork(): number {
    return this.count
  }

  /** The number of requests that wait. */
  get queued(): number {
    return this.waiting
  }

  /**
   * While a permit is free, requests wait only if their tenant has its maximum. So a new request overtakes no other.
   */
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

  /** Rejects all requests that wait, and all later ones. */
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
          this.begin(tenant) // at once, so that no other request takes the permit
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

  /** Gives a free permit to the first request of the tenant that has the fewest permits and may have more. */
  private passOn(): void {
    let next: { tenant: string; queue: Set<Waiting>; has: number } | undefined
    for (const [tenant, queue] of this.queues) {
      const has = this.working.get(tenant) ?? 0
      // Of tenants with equally many permits, the first one is next.
      if (this.mayHaveMore(tenant) && has < (next?.has ?? Infinity)) next = { tenant, queue, has }
    }
    if (next === undefined) return
    // The tenant moves to the end: next time, all others with equally many permits go first.
    this.queues.delete(next.tenant)
    this.queues.set(next.tenant, next.queue)
    const [first] = next.queue // none of the queues is empty
    first?.go()
  }
}
