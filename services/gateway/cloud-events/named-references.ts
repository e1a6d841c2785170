import { LRUCache } from 'lru-cache'
import type { CountingMetric, NamedReferences } from '../../../shared/postgres/references.ts'
import type { Purges } from '../../../shared/redis/purges.ts'

/** Looks up accounts by their ids or external ids, and metrics by their event types. */
export type FindNamed = (
  namespaceId: string,
  subjects: ReadonlySet<string>,
  types: ReadonlySet<string>,
) => Promise<NamedReferences>

type ListNamed = (
  namespaceId: string,
  subjects: readonly string[],
  types: readonly string[],
) => Promise<NamedReferences>

/**
 * How long a name may be cached, counted from the start of its look-up. External ids and event types can be moved to
 * others, so this is how long usage may still go to the former account or metric.
 */
const NAME_TTL_MS = 4_000

/**
 * Caches accounts and metrics by the names that CloudEvents give them, for a few seconds. A name that means nothing is
 * looked up each time, because something may have got it since.
 *
 * @param namesMax the maximum number of cached names of each kind
 * @param purges says when to empty the whole cache
 */
export function namedReferences(list: ListNamed, namesMax: number, purges?: Purges): FindNamed {
  const accountIds = new LRUCache<string, string>({ max: namesMax, ttl: NAME_TTL_MS })
  const metrics = new LRUCache<string, readonly CountingMetric[]>({ max: namesMax, ttl: NAME_TTL_MS })
  purges?.onPurge((purge) => {
    if (purge !== 'everything') return
    accountIds.clear()
    metrics.clear()
  })
  return async (namespaceId, subjects, types) => {
    const keyOf = (name: string) => `${namespaceId}/${name}`
    const found: NamedReferences = { accountIds: new Map(), metrics: new Map() }
    const unknownOf = <T extends object | string>(
      names: ReadonlySet<string>,
      cached: LRUCache<string, T>,
      into: Map<string, T>,
    ) =>
      [...names].filter((name) => {
        const one = cached.get(keyOf(name))
        if (one !== undefined) into.set(name, one)
        return one === undefined
      })
    const unknownSubjects = unknownOf(subjects, accountIds, found.accountIds)
    const unknownTypes = unknownOf(types, metrics, found.metrics)
    if (unknownSubjects.length + unknownTypes.length === 0) return found
    const start = performance.now()
    const looked = await list(namespaceId, unknownSubjects, unknownTypes)
    for (const [name, id] of looked.accountIds) {
      found.accountIds.set(name, id)
      accountIds.set(keyOf(name), id, { start })
    }
    for (const [type, ofType] of looked.metrics) {
      found.metrics.set(type, ofType)
      metrics.set(keyOf(type), ofType, { start })
    }
    return found
  }
}
