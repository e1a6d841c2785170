import type { EnvReader } from '../config/env-reader.ts'

/** Redis may take so long for an answer; then work goes on without it. */
const TIMEOUT_MS = 100

/** Settings of Redis; without a URL there is none, and limits stay in each process. */
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
