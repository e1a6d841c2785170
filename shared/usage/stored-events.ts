import { canonicalAmount } from '../amount/amount.ts'
import type { CurrentEvent, usageEventRepository } from '../clickhouse/events/usage-events.ts'
import { type Properties, propertyPairs } from '../domain/properties.ts'
import type { UsageEvent } from '../domain/usage-event.ts'
import type { UntilLoaded } from '../event-log/until-loaded.ts'

/** Finds events in ClickHouse. The result lacks ids that nobody reported. */
export type FindStoredEvents = (
  namespaceId: string,
  ids: readonly string[],
) => Promise<Map<string, UsageEvent>>

/**
 * Finds events in their latest stored version in ClickHouse. A recently accepted event may not be stored yet. So if
 * ClickHouse lacks an event, it waits until all records that are in the event log now are loaded, and reads again.
 *
 * @throws DomainError overloaded when the wait takes too long
 */
export function findStoredEventsIn(
  events: Pick<ReturnType<typeof usageEventRepository>, 'listByIds'>,
  untilLoaded: UntilLoaded,
): FindStoredEvents {
  return async (namespaceId, ids) => {
    if (ids.length === 0) return new Map()
    const found = await events.listByIds(namespaceId, ids)
    const missing = ids.filter((id) => !found.has(id))
    if (missing.length > 0) {
      await untilLoaded()
      for (const [id, event] of await events.listByIds(namespaceId, missing)) found.set(id, event)
    }
    return new Map([...found].map(([id, event]) => [id, wholeEvent(namespaceId, event)]))
  }
}

const wholeEvent = (namespaceId: string, event: CurrentEvent): UsageEvent => ({
  ...event,
  namespaceId,
  quantity: canonicalAmount(event.quantity),
  propertyPairs: propertyPairs(JSON.parse(event.properties) as Properties),
})
