/** Thrown at once while the circuit breaker counts Redis as out of reach. */
class RedisAway extends Error {
  constructor() {
    super('Redis is away')
    this.name = 'RedisAway'
  }
}

export interface CircuitBreakerOptions {
  /** The time limit of one piece of work. */
  timeoutMs: number
  /** The time after a failure in which Redis gets no requests. */
  pauseMs: number
  /** A clock in milliseconds that never goes back. */
  now: () => number
  /** Whether an error means that Redis is out of reach. */
  isOutage: (err: unknown) => boolean
  /** Called once when an outage begins. */
  onAway: (err: unknown) => void
  onBack: () => void
}

/** Runs work against Redis, or fails at once while Redis is out of reach. */
export type CircuitBreaker = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Limits the time of each piece of work. After a failure there is a pause in which Redis gets no requests, and all work
 * fails at once. After the pause, one piece of work tries Redis, while all others still fail at once. So while Redis
 * stalls, only that piece of work waits for the time limit.
 */
export function circuitBreaker({
  timeoutMs,
  pauseMs,
  now,
  isOutage,
  onAway,
  onBack,
}: CircuitBreakerOptions): CircuitBreaker {
  let retryAt: number | undefined // undefined: Redis works
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
      // The success of work that began before the outage does not show that Redis works again.
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

/**
 * Enough time for one turn of the event loop. In that turn, an answer that arrived while the process was busy is read
 * before the limit applies.
 */
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
        // A timer counts from the beginning of the turn in which it is set. So it may run too early after a long turn.
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
