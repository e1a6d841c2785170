import type {
  AcceptancePlace,
  CurrentEvent,
  usageEventRepository,
} from '../../shared/clickhouse/usage-events.ts'
import { unknownCursor, type Page, type PageRequest } from '../../shared/domain/page.ts'
import { unixSeconds, type Micros } from '../../shared/time/microsecond-clock.ts'

export type ListEvents = (namespaceId: string, page: PageRequest) => Promise<Page<CurrentEvent>>

/**
 * Usage events by the second they were accepted in, then by id.
 *
 * @param listedUpTo no event that was accepted before this can still turn up; the list ends before its second
 * @throws DomainError malformed when startingAfter is no event of the namespace
 */
export function listEvents(
  events: ReturnType<typeof usageEventRepository>,
  listedUpTo: () => Promise<Micros>,
): ListEvents {
  return async (namespaceId, { limit, startingAfter }) => {
    // First: an event that is accepted after this is of a later second, and one that is loaded meanwhile is seen below.
    const before = unixSeconds(await listedUpTo())
    const after = startingAfter === undefined ? undefined : await placeOf(events, namespaceId, startingAfter)
    const found = await events.listByAcceptance(namespaceId, after, before, limit + 1)
    return { items: found.slice(0, limit), hasMore: found.length > limit }
  }
}

async function placeOf(
  events: ReturnType<typeof usageEventRepository>,
  namespaceId: string,
  id: string,
): Promise<AcceptancePlace> {
  const event = (await events.listByIds(namespaceId, [id])).get(id)
  if (event === undefined) throw unknownCursor()
  return { acceptedSecond: unixSeconds(event.acceptedAt), id }
}
