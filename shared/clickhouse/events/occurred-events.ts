import type { FairSemaphore } from '../../batching/fair-semaphore.ts'
import type { ListOrder } from '../../domain/page.ts'
import { ALL_TIME, clampRange, intersect, type TimeRange } from '../../domain/time-range.ts'
import { occurredAtOfEventId } from '../../domain/usage-event.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { eventsOf } from '../rollups/cover-query.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import { type RollupStateReader, rollupStateReader } from '../rollups/rollup-state.ts'
import type { UsageCover } from '../rollups/usage-cover.ts'
import { propertyToken } from '../usage/property-token.ts'
import { OF_ACCOUNT, settingsOf, WITH_PROPERTY } from '../usage/usage-aggregates.ts'
import { type EventPage, eventWindows } from './event-windows.ts'
import { readRolledPage, UNROLLED } from './rolled-page.ts'
import type { UsageEventFilter } from './usage-event-list.ts'
import { type CurrentEvent, usageEventRepository } from './usage-events.ts'

/** Which events a list by occurrence has; undefined does not filter. */
export interface OccurredFilter extends UsageEventFilter {
  range: TimeRange
  /** Only events that have this top-level property with this text as its value: see propertyPairs. */
  property: { name: string; value: string } | undefined
}

interface OccurredPage {
  order: ListOrder
  limit: number
  /** The id of the event that the page begins after; it need not be of an event that is stored. */
  after: string | undefined
}

/** An event of a page, as its sorting key has it. */
interface Key {
  event_id: string
  account: string
}

// Events of a page are in the order of their ids, because an id begins with the second in which the event occurred. Why
// no FINAL: all rows of an event have the same key, and only the key is read.
const KEYS = `
  SELECT concat('event_', lower(hex(id))) AS event_id, any(account_id) AS account FROM usage_events`
// Why not PREWHERE: see conditionsOf in usage-aggregates.
const KEYS_WITH_PROPERTY = `
  SELECT concat('event_', lower(hex(id))) AS event_id, account_id AS account FROM usage_events FINAL`
const OF_NAMESPACE = 'namespace_id = {namespaceId:String}'
const OF_SOURCE = 'AND source = {source:String}'
const AFTER: Record<ListOrder, string> = {
  oldest: 'AND id > toFixedString(unhex({after:String}), 16)',
  newest: 'AND id < toFixedString(unhex({after:String}), 16)',
}
const IN_ORDER: Record<ListOrder, string> = {
  oldest: 'ORDER BY id LIMIT {limit:UInt32}',
  newest: 'ORDER BY id DESC LIMIT {limit:UInt32}',
}

/**
 * Lists usage events by the second in which they occurred, then by id. Rollups tell where events are, so that a page
 * costs about the same wherever it is. A filter by property is not in the rollups; then the events are searched, first
 * in the nearest day of the list, then in the nearest month, then in the rest.
 *
 * @param client for reads that may take long
 * @param rawReads the semaphore whose permits these reads need; see rawReadSemaphore
 */
export function occurredEvents(client: ClickHouse, rawReads: FairSemaphore) {
  const deps = { client, states: rollupStateReader(client) }
  const events = usageEventRepository(client)
  return {
    /** One page of events, each in its newest version; events that were voided are included. */
    list(
      namespaceId: string,
      filter: OccurredFilter,
      page: OccurredPage,
      signal?: AbortSignal,
    ): Promise<{ items: CurrentEvent[]; hasMore: boolean }> {
      const asked = pageOf(filter, page)
      if (asked === undefined) return Promise.resolve({ items: [], hasMore: false })
      const read = async () => {
        const { keys, hasMore } = await listKeys(deps, namespaceId, filter, page.after, asked)
        const ids = keys.slice(0, page.limit).map((key) => key.event_id)
        const accounts = [...new Set(keys.map(({ account }) => account))]
        const current = await events.listByIds(namespaceId, ids, accounts)
        return { items: ids.flatMap((id) => current.get(id) ?? []), hasMore }
      }
      return rawReads.run(() => retryIfStale(read), { tenant: namespaceId, signal })
    },
  }
}

/** The time in which the events of a page can be. @returns undefined when there is none */
function pageOf({ range }: OccurredFilter, { order, limit, after }: OccurredPage): EventPage | undefined {
  const begunIn = after === undefined ? undefined : occurredAtOfEventId(after)
  const rest =
    begunIn === undefined
      ? ALL_TIME
      : order === 'oldest'
        ? { startAt: begunIn, endAt: ALL_TIME.endAt }
        : { startAt: ALL_TIME.startAt, endAt: begunIn + 1 }
  const within = intersect(clampRange(range), clampRange(rest))
  return within && { range: within, begunIn, order, wanted: limit + 1 }
}

interface Deps {
  client: ClickHouse
  states: RollupStateReader
}

/** The keys of the events of a page, and of one more if there is one. */
async function listKeys(
  deps: Deps,
  namespaceId: string,
  filter: OccurredFilter,
  after: string | undefined,
  page: EventPage,
): Promise<{ keys: Key[]; hasMore: boolean }> {
  const rollups =
    filter.property === undefined
      ? await readRolledPage(deps.client, deps.states, namespaceId, filter, page)
      : UNROLLED
  const { reads, hasMore } = eventWindows(page, rollups)
  const keys: Key[] = []
  for (const places of reads) {
    const { query, params } = keyQuery(filter, page.order, after, places, rollups.state.slotS)
    const limit = page.wanted - keys.length
    keys.push(...(await queryRows<Key>(deps.client, query, { ...params, namespaceId, limit })))
    if (keys.length === page.wanted) return { keys, hasMore: true }
  }
  return { keys, hasMore }
}

/** A query for keys of events in some places, and its parameters except the namespace and the limit. */
function keyQuery(
  { accountId, source, property }: OccurredFilter,
  order: ListOrder,
  after: string | undefined,
  places: UsageCover['events'],
  slotS: number,
): { query: string; params: Record<string, unknown> } {
  const time = eventsOf(places, slotS)
  const token = property && propertyToken(property.name, property.value)
  const ofKey = [
    OF_NAMESPACE,
    ...(time === undefined ? [] : [`AND ${time.condition}`]),
    ...(accountId === undefined ? [] : [OF_ACCOUNT]),
    ...(source === undefined ? [] : [OF_SOURCE]),
    ...(after === undefined ? [] : [AFTER[order]]),
  ].join(' ')
  const params = {
    ...time?.params,
    ...(accountId === undefined ? {} : { accountId }),
    ...(source === undefined ? {} : { source }),
    ...(after === undefined ? {} : { after: after.slice('event_'.length) }),
  }
  if (token === undefined)
    return { query: `${KEYS} PREWHERE ${ofKey} GROUP BY id ${IN_ORDER[order]}`, params }
  return {
    query: `${KEYS_WITH_PROPERTY} WHERE ${ofKey} ${WITH_PROPERTY} ${IN_ORDER[order]} ${settingsOf({ token })}`,
    params: { ...params, token },
  }
}
