import type { EventCount, eventCountRepository } from '../clickhouse/events/event-counts.ts'
import { groupBy } from '../collections/group-by.ts'
import type { retiredNamespaceRepository } from '../postgres/retired-namespaces.ts'
import type { UsageCount } from '../postgres/usage-counts.ts'
import type { Micros } from '../time/microsecond-clock.ts'

export interface RecountDeps {
  /** The stored counts of every company. */
  counts: { list: () => Promise<UsageCount[]> }
  events: ReturnType<typeof eventCountRepository>
  /** Read after each count, because a namespace may be retired and deleted during the count. */
  retired: Pick<ReturnType<typeof retiredNamespaceRepository>, 'listRetired'>
  signal: AbortSignal
}

/** A month of a namespace, counted again. */
export interface Recount extends UsageCount {
  /** The number of events by the stored count. `missing` of these were not found again. */
  counted: number
}

/**
 * Counts the events of each month again, and compares the result with the stored counts. Every event of a stored count
 * must be found again. Events that were accepted later do not change this comparison, and an event counts once even if
 * it was loaded again, corrected or voided.
 *
 * @param before the new counts include the events that were accepted before this time. All of them should be loaded
 * @returns for each month, the namespaces that have, or had, events in that month
 */
export async function* recountUsage(
  { counts, events, retired, signal }: RecountDeps,
  before: Micros,
): AsyncGenerator<Recount[]> {
  const storedByMonth = groupBy(await counts.list(), ({ month }) => month)
  const months = new Set([...storedByMonth.keys(), ...(await events.listMonths())])
  for (const month of [...months].sort((a, b) => a - b)) {
    signal.throwIfAborted()
    const stored = new Map((storedByMonth.get(month) ?? []).map((count) => [count.namespaceId, count]))
    const found = await countMonth(events, month, stored, before)
    const namespaceIds = [...new Set([...stored.keys(), ...found.keys()])]
    const reset = new Set(namespaceIds.length === 0 ? [] : await retired.listRetired(namespaceIds))
    yield namespaceIds
      .filter((id) => !reset.has(id))
      .map((namespaceId) => {
        const { again = 0, now = 0 } = found.get(namespaceId) ?? {}
        const { events: counted = 0, countedBefore = 0 } = stored.get(namespaceId) ?? {}
        return {
          namespaceId,
          month,
          // If a clock was set back, `before` may be earlier than the time of the stored count.
          events: before < countedBefore ? again : now,
          countedBefore: Math.max(before, countedBefore),
          counted,
          missing: Math.max(0, counted - again),
        }
      })
  }
}

/**
 * Counts the events of a month by namespace. Namespaces are counted together, so nearly all stored counts have the
 * same time. For each other time, the month is read once more.
 */
async function countMonth(
  events: RecountDeps['events'],
  month: number,
  stored: ReadonlyMap<string, UsageCount>,
  before: Micros,
): Promise<Map<string, Pick<EventCount, 'again' | 'now'>>> {
  const countedBefore = (namespaceId: string) => stored.get(namespaceId)?.countedBefore ?? 0
  const times = new Set([...stored.values()].map((count) => count.countedBefore))
  const found = new Map<string, Pick<EventCount, 'again' | 'now'>>()
  for (const time of times.size === 0 ? [0] : times)
    for (const { namespaceId, again, now } of await events.count(month, time, before))
      if (time === countedBefore(namespaceId)) found.set(namespaceId, { again, now })
      else if (!found.has(namespaceId)) found.set(namespaceId, { again: 0, now })
  return found
}

/** A month in the form 2026-09. */
export const monthText = (month: number): string =>
  `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`
