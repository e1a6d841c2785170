import { LRUCache } from 'lru-cache'
import type { Purges } from '../../shared/redis/purges.ts'

/** Looks up which of the ids exist in a namespace. */
export type ListExisting = (
  namespaceId: string,
  accountIds: readonly string[],
  metricIds: readonly string[],
) => Promise<string[]>

/** Finds the accounts and metrics that do not exist. */
export type FindMissing = (
  namespaceId: string,
  accountIds: ReadonlySet<string>,
  metricIds: ReadonlySet<string>,
) => Promise<ReadonlySet<string>>

/**
 * Caches accounts and metrics that exist. They are never deleted, so a cached id stays valid. An id that does not exist
 * is looked up each time, because it may have been created since.
 *
 * @param idsMax the maximum number of cached ids
 * @param purges says when to empty the whole cache
 */
export function existingReferences(listExisting: ListExisting, idsMax: number, purges?: Purges): FindMissing {
  const cached = new LRUCache<string, true>({ max: idsMax })
  purges?.onPurge((purge) => {
    if (purge === 'everything') cached.clear()
  })
  return async (namespaceId, accountIds, metricIds) => {
    const isUncached = (id: string) => cached.get(`${namespaceId}/${id}`) === undefined
    const listUncached = (ids: ReadonlySet<string>) => [...ids].filter(isUncached)
    const [accounts, metrics] = [listUncached(accountIds), listUncached(metricIds)]
    if (accounts.length + metrics.length === 0) return new Set()
    const existing = new Set(await listExisting(namespaceId, accounts, metrics))
    for (const id of existing) cached.set(`${namespaceId}/${id}`, true)
    return new Set([...accounts, ...metrics].filter((id) => !existing.has(id)))
  }
}
