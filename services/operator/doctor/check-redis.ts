import type { Logger } from '../../../shared/logging/logger.ts'
import type { RedisConfig } from '../../../shared/redis/config.ts'
import { openRedis } from '../../../shared/redis/redis.ts'
import { failed, type Finding, ok, warning } from './finding.ts'

export const REDIS = 'Redis'
const VERSION_MIN = 7

/**
 * Checks that Redis answers, and its version. Tally works without Redis, but REDIS_URL says that there should be one.
 */
export async function checkRedis(config: RedisConfig & { url: string }, log: Logger): Promise<Finding[]> {
  const redis = await openRedis(config, log)
  try {
    const text = await redis
      .run((client) => client.info())
      .catch((err: unknown) => {
        const why = err instanceof Error ? err.message : String(err)
        throw new Error(
          `REDIS_URL does not answer (${why}): each process has limits and caches of its own, and a revoked key works for up to five seconds`,
          { cause: err },
        )
      })
    return describe(fieldsOf(text))
  } finally {
    await redis.close()
  }
}

const fieldsOf = (info: string): ReadonlyMap<string, string> =>
  new Map(
    info.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf(':')
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
    }),
  )

function describe(info: ReadonlyMap<string, string>): Finding[] {
  // Valkey has two versions: its own, and the version of the Redis that it is compatible with.
  const version = info.get('redis_version') ?? ''
  const shown = info.has('valkey_version')
    ? `Valkey ${info.get('valkey_version') ?? ''}`
    : `version ${version}`
  if (Number(version.split('.')[0]) < VERSION_MIN)
    return [failed(REDIS, `${shown}: ${VERSION_MIN} or later, or Valkey, is needed`)]
  const isBounded = (info.get('maxmemory') ?? '0') !== '0'
  if (isBounded && info.get('maxmemory_policy') === 'noeviction')
    return [
      ok(REDIS, shown),
      warning(
        REDIS,
        'maxmemory-policy is noeviction: once Redis is full, nothing is shared any more; set volatile-ttl',
      ),
    ]
  return [ok(REDIS, shown)]
}
