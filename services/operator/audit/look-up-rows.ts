import type { CurrentEvent, usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { groupBy } from '../../../shared/collections/group-by.ts'
import type { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { type AuditResult, describeRow, isNoted, report } from './audit-result.ts'

type Named = { namespaceId: string; id: string }

/** Makes a key for an event that is unique among all namespaces. */
export const keyOf = ({ namespaceId, id }: Named): string => `${namespaceId} ${id}`

/** Looks up the rows that count for some events, by keyOf. Reports an event that has more than one row. */
export async function lookUpRows(
  events: Pick<ReturnType<typeof usageEventRepository>, 'listRows'>,
  wanted: readonly Named[],
  result: AuditResult,
): Promise<Map<string, CurrentEvent[]>> {
  const found = new Map<string, CurrentEvent[]>()
  for (const [namespaceId, some] of byNamespace(wanted))
    for (const row of await events.listRows(namespaceId, [...new Set(some.map(({ id }) => id))])) {
      const key = keyOf({ namespaceId, id: row.id })
      const rows = found.get(key) ?? []
      found.set(key, rows)
      rows.push(row)
      if (rows.length > 1 && !isNoted(result, 'doubled', row.id))
        report(result, { kind: 'doubled', eventId: row.id, detail: rows.map(describeRow).join('; ') })
    }
  return found
}

/** Finds those namespaces of the events that a reset has retired. */
export async function findRetired(
  retired: Pick<ReturnType<typeof retiredNamespaceRepository>, 'listRetired'>,
  all: readonly Pick<Named, 'namespaceId'>[],
): Promise<ReadonlySet<string>> {
  const ids = new Set(all.map(({ namespaceId }) => namespaceId))
  return ids.size === 0 ? ids : new Set(await retired.listRetired([...ids]))
}

/** Makes one list for each namespace, in the order given. */
export const byNamespace = <T extends Named>(all: readonly T[]): Map<string, T[]> =>
  groupBy(all, ({ namespaceId }) => namespaceId)
