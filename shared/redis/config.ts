import type { EnvReader } from '../config/env-reader.ts'

/** The longest time to wait for an answer of Redis. After that time, work goes on without Redis. */
const TIMEOUT_MS = 100

/** Reads the settings of Redis. Without a URL, Tally uses no Redis, and each process has limits of its own. */
export function readRedisConfig(read: EnvReader) {
  return {
    url: read.url('REDIS_URL', ['redis:', 'rediss:'], {
      about: 'a Redis 7 or Valkey server for limits that processes share; unset: each process counts alone',
    }),
    timeoutMs: TIMEOUT_MS,
    prefix: read.string('REDIS_PREFIX', {
      about: 'what the names of keys and channels in Redis begin with',
      default: 'tally:',
    }),
  }
}

export type RedisConfig = ReturnType<typeof readRedisConfig>
