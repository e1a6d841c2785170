import type { EnvReader } from '../config/env-reader.ts'

/** Settings of Redis; without a URL there is none, and limits stay in each process. */
export function readRedisConfig(read: EnvReader) {
  return {
    url: read.url('REDIS_URL', ['redis:', 'rediss:'], {
      about: 'a Redis 7 or Valkey server for limits that processes share; unset: each process counts alone',
    }),
    timeoutMs: read.integer('REDIS_TIMEOUT_MS', {
      about: 'milliseconds Redis may take for an answer before work goes on without it',
      default: 100,
      min: 5,
      max: 5_000,
    }),
    prefix: read.string('REDIS_PREFIX', {
      about: 'what the names of keys and channels in Redis begin with',
      default: 'tally:',
    }),
  }
}

export type RedisConfig = ReturnType<typeof readRedisConfig>
