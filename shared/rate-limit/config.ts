import type { EnvReader } from '../config/env-reader.ts'
import { readTrustedProxies } from './client-address.ts'

/**
 * Reads the settings of the rate limits. The defaults are high: they only prevent that one caller uses all capacity.
 */
export function readRateLimitConfig(read: EnvReader) {
  const perSecond = (name: string, about: string, fallback: number, min: number) =>
    read.integer(name, { about, default: fallback, min, max: 1_000_000_000 })
  return {
    eventsPerS: perSecond('RATE_LIMIT_EVENTS_PER_S', 'events a key may report in a second', 500_000, 1_000),
    requestsPerS: perSecond('RATE_LIMIT_REQUESTS_PER_S', 'other requests of a key in a second', 10_000, 1),
    accountRequestsPerS: perSecond(
      'RATE_LIMIT_ACCOUNT_REQUESTS_PER_S',
      'requests in a second with account keys, of one account',
      100,
      1,
    ),
    wrongKeysPerMin: perSecond(
      'RATE_LIMIT_WRONG_KEYS_PER_MIN',
      'requests with a wrong key or password from an address in a minute, after which their answers say to wait',
      600,
      1,
    ),
    trustedProxies: readTrustedProxies(read),
  }
}

export type RateLimitConfig = ReturnType<typeof readRateLimitConfig>
