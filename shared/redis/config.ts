import type { EnvReader } from '../config/env-reader.ts'

/** Settings of Redis; without a URL there is none, and limits and caches stay in each process. */
export function readRedisConfig(read: EnvReader) {
  return {
    url: read.url('REDIS_URL', ['redis:', 'rediss:'], {
      about:
        'a Redis 7 or Valkey server for limits and caches that processes share; unset: in each process alone',
    }),
    isCluster:
      read.oneOf('REDIS_CLUSTER', ['no', 'yes'], {
        about: 'whether REDIS_URL names a node of a Redis Cluster',
        default: 'no',
      }) === 'yes',
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
