import { LRUCache } from 'lru-cache'
import type { Purges } from '../../shared/redis/purges.ts'
import type { SharedReferences } from '../../shared/redis/shared-references.ts'

/** Looks up which of the ids exist in a namespace. */
export type ListExisting = (
  namespaceId: string,
  accountIds: readonly string[],
  metricIds: readonly string[],
) => Promise<string[]>

/** Tells which accounts and metrics do not exist. */
export type FindUnknown = (
  namespaceId: string,
  accountIds: ReadonlySet<string>,
  metricIds: ReadonlySet<string>,
) => Promise<ReadonlySet<string>>

/** What a memory of accounts and metrics may share with other processes. */
export interface ReferenceSharing {
  purges: Purges
  /** Where other processes leave what they saw to exist, if there is such a place. */
  shared: SharedReferences | undefined
}

/**
 * Remembers accounts and metrics that were seen to exist. They are never deleted, so what exists stays true for ever; what
 * does not is asked again each time, because it may have been created since.
 *
 * @param idsMax how many ids are remembered
 */
export function knownReferences(
  listExisting: ListExisting,
  idsMax: number,
  sharing?: ReferenceSharing,
): FindUnknown {
  const known = new LRUCache<string, true>({ max: idsMax })
  sharing?.purges.onPurge((purge) => {
    if (purge === 'everything') known.clear()
  })
  return async (namespaceId, accountIds, metricIds) => {
    const remember = (ids: Iterable<string>) => {
      for (const id of ids) known.set(`${namespaceId}/${id}`, true)
    }
    const isUnknown = (id: string) => known.get(`${namespaceId}/${id}`) === undefined
    const listUnknown = (ids: ReadonlySet<string>) => [...ids].filter(isUnknown)
    if (sharing?.shared !== undefined) {
      const wanted = [...listUnknown(accountIds), ...listUnknown(metricIds)]
      if (wanted.length > 0) remember(await sharing.shared.listSeen(namespaceId, wanted))
    }
    const [accounts, metrics] = [listUnknown(accountIds), listUnknown(metricIds)]
    if (accounts.length + metrics.length === 0) return new Set()
    const existing = new Set(await listExisting(namespaceId, accounts, metrics))
    remember(existing)
    sharing?.shared?.noteSeen(namespaceId, existing)
    return new Set([...accounts, ...metrics].filter((id) => !existing.has(id)))
  }
}
