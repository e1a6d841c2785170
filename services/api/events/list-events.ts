import type {
  AcceptanceKey,
  UsageEventFilter,
  usageEventListRepository,
} from '../../../shared/clickhouse/events/usage-event-list.ts'
import type { CurrentEvent, usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../../../shared/domain/page.ts'
import { type Micros, unixSeconds } from '../../../shared/time/microsecond-clock.ts'

export type ListEvents = (
  namespaceId: string,
  filter: UsageEventFilter,
  page: PageRequest,
) => Promise<Page<CurrentEvent>>

export interface ListEventsDeps {
  events: Pick<ReturnType<typeof usageEventRepository>, 'listByIds'>
  list: Pick<ReturnType<typeof usageEventListRepository>, 'listByAcceptance'>
  /** Returns a time before which every accepted event is stored. The list ends before the second of this time. */
  listedUpTo: () => Promise<Micros>
}

/**
 * Lists usage events, sorted by the second of their acceptance, then by id. A page may start after any event of the
 * namespace, even one that the filter leaves out.
 *
 * @throws DomainError malformed when startingAfter is not an event of the namespace
 */
export function listEvents({ events, list, listedUpTo }: ListEventsDeps): ListEvents {
  return async (namespaceId, filter, { limit, startingAfter, order = 'oldest' }) => {
    // This must come first: then the query below finds every event that was accepted before this time.
    const before = unixSeconds(await listedUpTo())
    const after = startingAfter === undefined ? undefined : await keyOf(events, namespaceId, startingAfter)
    const page = { order, limit: limit + 1, after, before }
    return pageOf(await list.listByAcceptance(namespaceId, filter, page), limit)
  }
}

async function keyOf(
  events: ListEventsDeps['events'],
  namespaceId: string,
  id: string,
): Promise<AcceptanceKey> {
  const event = (await events.listByIds(namespaceId, [id])).get(id)
  if (event === undefined) throw unknownCursor()
  return { acceptedSecond: unixSeconds(event.acceptedAt), id }
}
