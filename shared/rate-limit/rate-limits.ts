import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Redis } from '../redis/redis.ts'
import { addressBehind, type AddressOf } from './client-address.ts'
import type { RateLimitConfig } from './config.ts'
import type { RateLimit, Standing } from './rate-limit.ts'
import { sharedRateLimit } from './shared-rate-limit.ts'

/** The limits of a service. */
export interface RateLimits {
  /** Requests that do not report events, by key. */
  requests: RateLimit
  /** Requests with account keys, by account, because a customer who has one such key may get many. */
  accountRequests: RateLimit
  /** Reported events, by key. */
  events: RateLimit
  /** Requests with a wrong key, by address. */
  wrongKeys: RateLimit
  /** Analysts' queries with a wrong password, by address. */
  wrongPasswords: RateLimit
  /** The address for which a wrong key or password counts. */
  addressOf: AddressOf
}

/** @param redis the Redis in which processes count together; undefined if each process counts alone */
export function openRateLimits(config: RateLimitConfig, redis?: Redis): RateLimits {
  const limit = (name: string, quota: number, windowS: number) =>
    redis === undefined ? inMemory(name, quota, windowS) : sharedRateLimit({ name, quota, windowS }, redis)
  return {
    requests: limit('requests', config.requestsPerS, 1),
    accountRequests: limit('account-requests', config.accountRequestsPerS, 1),
    events: limit('events', config.eventsPerS, 1),
    wrongKeys: limit('wrong-keys', config.wrongKeysPerMin, 60),
    wrongPasswords: limit('wrong-passwords', config.wrongKeysPerMin, 60),
    addressOf: addressBehind(config.trustedProxies),
  }
}

function inMemory(name: string, quota: number, windowS: number): RateLimit {
  const limiter = new RateLimiterMemory({ points: quota, duration: windowS })
  return {
    name,
    quota,
    windowS,
    async use(caller, points) {
      try {
        return standing(await limiter.consume(caller, points), true)
      } catch (err) {
        if (err instanceof RateLimiterRes) return standing(err, false)
        throw err
      }
    },
  }
}

const standing = ({ remainingPoints, msBeforeNext }: RateLimiterRes, isWithin: boolean): Standing => ({
  isWithin,
  remaining: remainingPoints,
  resetS: Math.max(1, Math.ceil(msBeforeNext / 1_000)),
})
