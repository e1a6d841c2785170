import type { EventCount, eventCountRepository } from '../clickhouse/events/event-counts.ts'
import { groupBy } from '../collections/group-by.ts'
import type { retiredNamespaceRepository } from '../postgres/retired-namespaces.ts'
import type { UsageCount } from '../postgres/usage-counts.ts'
import type { Micros } from '../time/microsecond-clock.ts'

export interface RecountDeps {
  /** The stored counts of every company. */
  counts: { list: () => Promise<UsageCount[]> }
  events: ReturnType<typeof eventCountRepository>
  /** Asked after rows were counted: a namespace may be retired and deleted during the count. */
  retired: Pick<ReturnType<typeof retiredNamespaceRepository>, 'listRetired'>
  signal: AbortSignal
}

/** A month of a namespace, counted again. */
export interface Recount extends UsageCount {
  /** The number of events by the stored count. `missing` counts events of these. */
  counted: number
}

/**
 * Counts the events of each month again, and compares the result with the stored counts. No event that a stored count
 * includes may be missing, whatever was accepted later, and however often an event was loaded, corrected or voided.
 *
 * @param before the new counts include the events that were accepted before this time, which should all be loaded
 * @returns month by month, each namespace that has, or had, events in it
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
          // `before` is the earlier time when a clock was set back.
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
 * same time; for each other time the month is read once more.
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
