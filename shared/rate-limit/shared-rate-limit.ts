import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { NAMES } from '../redis/names.ts'
import type { Redis } from '../redis/redis.ts'
import type { RateLimit } from './rate-limit.ts'

/** The share of a quota that a process may grant before it reports to Redis. */
const UNTOLD_SHARE = 0.05
/**
 * The part of UNTOLD_SHARE after which the process reports in the background, so that few requests have to wait.
 */
const TELL_AFTER = 0.5
const CALLERS_MAX = 20_000

/** The use of a caller in the current window of time, as far as this process knows it. */
interface CallerWindow {
  /** The points that all processes used in this window, as far as Redis has reported. */
  used: number
  /** The points that this process has granted and is reporting to Redis. */
  telling: number
  /** The points that this process has granted and not yet reported. */
  untold: number
  /** Requests that wait to learn whether they are within the quota. */
  asking: Asking[]
  isTelling: boolean
  /** When the window ends, on the monotonic clock. */
  endsAt: number
}

interface Asking {
  points: number
  hear: (isWithin: boolean) => void
  fail: (err: unknown) => void
}

/**
 * A limit that several processes share. Redis counts the points of all processes. A process may grant a small share of
 * the quota before it asks Redis. So few requests wait for Redis, and a caller far below its limit causes no message to
 * Redis. A caller can exceed its quota by at most one such share for each process. When Redis is out of reach, each
 * process counts alone.
 */
export function sharedRateLimit(
  { name, quota, windowS }: Pick<RateLimit, 'name' | 'quota' | 'windowS'>,
  redis: Redis,
): RateLimit {
  const limiter = new RateLimiterRedis({
    storeClient: countingIn(redis),
    keyPrefix: redis.prefix + NAMES.limit(name),
    points: quota,
    duration: windowS,
    // When a caller has used up its quota, Redis gets no more requests about the caller in this window.
    inMemoryBlockOnConsumed: quota,
    insuranceLimiter: new RateLimiterMemory({ points: quota, duration: windowS }),
  })
  const untoldMax = Math.floor(quota * UNTOLD_SHARE)
  const tellFrom = untoldMax * TELL_AFTER
  const windowOf = callerWindows(windowS * 1_000)
  const tell = (caller: string, window: CallerWindow) => tellAll(limiter, caller, window, tellFrom)
  const ask = (caller: string, window: CallerWindow, points: number): Promise<boolean> =>
    new Promise((hear, fail) => {
      window.asking.push({ points, hear, fail })
      if (!window.isTelling) void tell(caller, window)
    })

  return {
    name,
    quota,
    windowS,
    async use(caller, points) {
      const window = windowOf(caller, performance.now())
      const standing = (isWithin: boolean) => ({
        isWithin,
        remaining: Math.max(0, quota - window.used - window.telling - window.untold),
        resetS: Math.max(1, Math.ceil((window.endsAt - performance.now()) / 1_000)),
      })
      if (window.used + window.telling + window.untold + points > quota && window.used > 0)
        return standing(false)
      if (window.telling + window.untold + points > untoldMax)
        return standing(await ask(caller, window, points))
      window.untold += points
      if (window.untold > tellFrom && !window.isTelling) void tell(caller, window)
      return standing(true)
    },
  }
}

/** Keeps the window of each recent caller, and starts a new window when the last one has ended. */
function callerWindows(windowMs: number): (caller: string, now: number) => CallerWindow {
  const windows = new LRUCache<string, CallerWindow>({ max: CALLERS_MAX })
  return (caller, now) => {
    const window = windows.get(caller)
    // Points that were granted more than one window ago do not count in this window.
    if (window === undefined || now >= window.endsAt + windowMs) {
      const fresh = {
        used: 0,
        telling: 0,
        untold: 0,
        asking: [],
        isTelling: false,
        endsAt: now + windowMs,
      }
      windows.set(caller, fresh)
      return fresh
    }
    if (now >= window.endsAt) {
      window.used = 0
      window.endsAt = now + windowMs
    }
    return window
  }
}

/**
 * Reports granted points to Redis, and answers requests that wait. There is one message at a time for each caller.
 * Points that are granted in the meantime go into the next message.
 *
 * @param tellFrom reporting ends when no request waits and no more than this many points are unreported
 */
async function tellAll(
  limiter: RateLimiterRedis,
  caller: string,
  window: CallerWindow,
  tellFrom: number,
): Promise<void> {
  window.isTelling = true
  while (window.asking.length > 0 || window.untold > tellFrom) {
    const asking = window.asking.splice(0)
    const asked = asking.reduce((sum, { points }) => sum + points, 0)
    window.telling = window.untold + asked
    window.untold = 0
    try {
      const { used, endsInMs } = await consume(limiter, caller, window.telling)
      window.used = used
      window.endsAt = performance.now() + endsInMs
      let usedBefore = used - asked
      for (const { points, hear } of asking) {
        usedBefore += points
        hear(usedBefore <= limiter.points)
      }
    } catch (err) {
      for (const { fail } of asking) fail(err)
    } finally {
      window.telling = 0
    }
  }
  window.isTelling = false
}

/** @returns the points that all processes used in this window, including these; more than the quota if it is used up */
async function consume(
  limiter: RateLimiterRedis,
  caller: string,
  points: number,
): Promise<{ used: number; endsInMs: number }> {
  const { consumedPoints, msBeforeNext } = await limiter.consume(caller, points).catch((err: unknown) => {
    if (err instanceof RateLimiterRes) return err
    throw err
  })
  // If the answer has 0 points, the limiter blocked the caller in memory, and Redis has not counted these points.
  return { used: consumedPoints > 0 ? consumedPoints : limiter.points + points + 1, endsInMs: msBeforeNext }
}

/**
 * Adds ARGV[1] to the counter, which expires ARGV[2] seconds after it was created. If the stored value is not a valid
 * counter (not a number, negative, or without an expiry), the counter starts again. The script of rate-limiter-flexible
 * does not do that.
 */
const COUNT = `
  local points, seconds = tonumber(ARGV[1]), tonumber(ARGV[2])
  local used = redis.pcall('INCRBY', KEYS[1], points)
  local ttl = redis.call('PTTL', KEYS[1])
  if type(used) ~= 'number' or used < points or ttl < 0 or ttl > seconds * 1000 then
    redis.call('SET', KEYS[1], points, 'EX', seconds)
    return { points, seconds * 1000 }
  end
  return { used, ttl }`

/** The commands that rate-limiter-flexible needs. */
const countingIn = (redis: Redis) => ({
  rlflxIncr: ([key = '', points = '', seconds = '']: readonly string[]) =>
    redis.run((client) => client.eval(COUNT, 1, key, points, seconds)),
})
