export interface FairSemaphoreOptions {
  /** The largest number of permits in use at once. */
  atOnce: number
  /** The largest number of permits of one tenant, even while permits are free. Default: atOnce. */
  atOnceOfOne?: number
  /** The largest number of requests that wait. */
  waitingMax: number
  /** The largest number of requests of one tenant that wait. Default: waitingMax. */
  waitingMaxOfOne?: number
  /** The longest time that a request may wait. */
  waitMs: number
  /** Makes the error of a rejected request. `reason` is a clause. */
  rejection: (reason: string) => Error
}

const GONE = 'the client has gone'
const TOO_MANY = 'too many queries are waiting'

/** A request for a permit, and the conditions under which its wait ends. */
export interface PermitRequest {
  /**
   * A free permit goes to the waiting tenant that has the fewest permits. Requests without a tenant share one tenant.
   */
  tenant?: string
  /** Ends the wait. */
  signal?: AbortSignal | undefined
  /** The longest time that this request may wait. Default: the semaphore's. */
  waitMs?: number
}

interface Waiting {
  go: () => void
  reject: (reason: string) => void
}

/**
 * Limits how many requests work at once, how many wait, and how long they wait. A tenant with many requests delays only
 * itself: a free permit goes to the waiting tenant that has the fewest permits. Tenants with equally many permits take
 * turns. The requests of one tenant get permits in order of arrival. No tenant has more than atOnceOfOne permits.
 *
 * When waitingMax requests wait, a new request is compared with the longest queue. If that queue is longer than the
 * queue of the new request's tenant would become, the last request of the longest queue is rejected, and the new
 * request waits. Otherwise the new request is rejected.
 *
 * It can also be a lock for each name: with the name as tenant, one permit for each tenant, and no limit for all.
 */
export class FairSemaphore {
  private readonly options: FairSemaphoreOptions
  /** The number of permits by tenant; no number is 0. */
  private readonly working = new Map<string, number>()
  private count = 0
  private closed = false
  /** Queues by tenant; no queue is empty. Of tenants with equally many permits, the first one in this map is next. */
  private readonly queues = new Map<string, Set<Waiting>>()
  private waiting = 0

  constructor(options: FairSemaphoreOptions) {
    this.options = options
  }

  /**
   * Waits for a permit, and then does work.
   *
   * @throws Error made by `rejection`, when the request gets no permit
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
   * @returns a function that gives the permit back; it must be called exactly once
   * @throws Error made by `rejection`, when the request gets no permit
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
   * Whether a tenant gets a permit without waiting. While a permit is free, requests wait only if their tenant has its
   * maximum. So a new request that gets a free permit overtakes no other request of its tenant.
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

  /** Rejects all requests that wait, and all later requests. */
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
    // The tenant moves to the end of the map: next time, all other tenants with equally many permits come first.
    this.queues.delete(next.tenant)
    this.queues.set(next.tenant, next.queue)
    const [first] = next.queue // no queue is empty
    first?.go()
  }
}
