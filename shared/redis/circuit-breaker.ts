/** Thrown instead of asking when Redis is known to be away. */
class RedisAway extends Error {
  constructor() {
    super('Redis is away')
    this.name = 'RedisAway'
  }
}

export interface CircuitBreakerOptions {
  /** The longest that work may take. */
  timeoutMs: number
  /** How long nothing is asked after a failure. */
  pauseMs: number
  /** Milliseconds that only ever grow. */
  now: () => number
  /** Whether an error means that Redis is away. */
  isOutage: (err: unknown) => boolean
  /** Called once when an outage begins, and once when it is over. */
  onAway: (err: unknown) => void
  onBack: () => void
}

/** Runs work against Redis, or gives up at once while Redis is away. */
export type CircuitBreaker = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Bounds each piece of work in time. After a failure nothing is asked for a pause, so that a stalled Redis costs one
 * time limit for each pause and not one for each request; then one piece of work tries, while others still go without.
 */
export function circuitBreaker({
  timeoutMs,
  pauseMs,
  now,
  isOutage,
  onAway,
  onBack,
}: CircuitBreakerOptions): CircuitBreaker {
  let retryAt: number | undefined // undefined: Redis is well
  let isTrying = false

  const fail = (err: unknown) => {
    if (retryAt === undefined) onAway(err)
    retryAt = now() + pauseMs
  }
  const succeed = () => {
    if (retryAt === undefined) return
    retryAt = undefined
    onBack()
  }

  return async (work) => {
    const isTrial = retryAt !== undefined
    if (isTrial) {
      if (isTrying || now() < (retryAt ?? 0)) throw new RedisAway()
      isTrying = true
    }
    try {
      const result = await within(timeoutMs, work)
      // What was under way when the outage began says nothing about how it is now.
      if (isTrial) succeed()
      return result
    } catch (err) {
      if (isOutage(err)) fail(err)
      else if (isTrial) succeed()
      throw err
    } finally {
      if (isTrial) isTrying = false
    }
  }
}

/** So that an answer which came while we were busy is read before we give up: a turn of the event loop. */
const GRACE_MS = 5

async function within<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + timeoutMs
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<never>((_resolve, reject) => {
    const giveUp = () => {
      reject(new Error(`no answer within ${timeoutMs} ms`))
    }
    const wait = (ms: number) => {
      timer = setTimeout(() => {
        // Timers count from the beginning of a turn, which may be long ago.
        const leftMs = endsAt - performance.now()
        if (leftMs > 0) wait(leftMs)
        else timer = setTimeout(giveUp, GRACE_MS)
      }, ms)
    }
    wait(timeoutMs)
  })
  try {
    return await Promise.race([work(), timedOut])
  } finally {
    clearTimeout(timer)
  }
}
