import { NAMES } from './names.ts'
import type { Redis } from './redis.ts'
import type { Signer } from './signed-values.ts'

/** Accounts and metrics that any process has seen to exist. */
export interface SharedReferences {
  /** Those of the ids that were seen, as far as Redis can tell. */
  listSeen(namespaceId: string, ids: readonly string[]): Promise<string[]>
  noteSeen(namespaceId: string, ids: Iterable<string>): void
}

/** Not for ever, so that Redis does not fill up with what nobody reports any more. */
const KEPT_S = 3_600
/** What exists is never deleted: how old the news is makes no difference. */
const ANY_TIME = 0

/** Keeps in Redis, signed, what was seen to exist. An id of an account is none of a metric: they begin differently. */
export function sharedReferences(redis: Redis, signer: Signer): SharedReferences {
  return {
    async listSeen(namespaceId, ids) {
      const names = ids.map((id) => NAMES.known(namespaceId, id))
      const texts = await redis
        .run((client) =>
          // One by one: in a cluster they lie on several nodes. ioredis sends them together.
          Promise.all(names.map((name) => client.get(redis.prefix + name).catch(ofAnotherKind))),
        )
        .catch(() => [])
      return ids.filter((_id, index) => {
        const text = texts[index]
        return typeof text === 'string' && signer.open(names[index] ?? '', text) !== undefined
      })
    },
    noteSeen(namespaceId, ids) {
      redis
        .run((client) =>
          Promise.all(
            Array.from(ids, (id) => {
              const name = NAMES.known(namespaceId, id)
              const text = signer.sign(name, { value: '', asOf: ANY_TIME })
              return client.set(redis.prefix + name, text, 'EX', KEPT_S)
            }),
          ),
        )
        .catch(() => undefined) // then another process asks PostgreSQL too
    },
  }
}

/** One value that somebody put there must not hide the others. */
function ofAnotherKind(err: unknown): null {
  if (err instanceof Error && err.message.startsWith('WRONGTYPE')) return null
  throw err
}
