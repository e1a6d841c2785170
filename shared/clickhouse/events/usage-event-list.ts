import type { ListOrder } from '../../domain/page.ts'
import { LAST_SECOND } from '../../domain/time-range.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { unixSeconds } from '../../time/microsecond-clock.ts'
import { type ClickHouse, queryBytes, queryRows } from '../clickhouse.ts'
import { type CurrentEvent, IDS_AT_ONCE, usageEventRepository } from './usage-events.ts'

/** The key of an entry in the list of events by acceptance. */
export interface AcceptanceKey {
  acceptedSecond: number
  id: string
}

/** An entry of the list. */
export type AcceptedEntry = AcceptanceKey & { namespaceId: string }

/** An entry with its id as the 16 bytes that are stored, because there are very many entries. */
export type BinaryEntry = Omit<AcceptedEntry, 'id'> & { id: Buffer }

export const entryFromBinary = ({ id, ...rest }: BinaryEntry): AcceptedEntry => ({
  ...rest,
  id: `event_${id.toString('hex')}`,
})

interface EntriesPage {
  /** Unix seconds, half-open. */
  from: number
  to: number
  after: BinaryEntry | undefined
  limit: number
}

/** Which events are listed; undefined does not filter. */
export interface UsageEventFilter {
  accountId: string | undefined
  source: UsageSource | undefined
}

/** A page of the list by acceptance. */
interface AcceptedPage {
  order: ListOrder
  limit: number
  /** The key of the last event of the page before; undefined for the first page. */
  after: AcceptanceKey | undefined
  /** Unix second; events accepted in it or later are left out. */
  before: number
}

interface KeyRow {
  second: number
  event_id: string
}

// Why no LIMIT BY or FINAL against duplicates: with either, ClickHouse reads the list to its end for each page. Why no
// buffering: with it, ClickHouse reads everything that an index has found before it returns the first rows.
const KEYS = `
  SELECT toUnixTimestamp(accepted_second) AS second, concat('event_', lower(hex(id))) AS event_id, account_id
  FROM usage_events_by_acceptance
  WHERE namespace_id = {namespaceId:String} AND accepted_second < toDateTime({before:UInt32}, 'UTC')`
// Why two conditions: the comparison of tuples alone does not use the index.
const KEYS_AFTER: Record<ListOrder, string> = {
  oldest: `AND accepted_second >= toDateTime({second:UInt32}, 'UTC')
    AND (accepted_second, id) > (toDateTime({second:UInt32}, 'UTC'), toFixedString(unhex({id:String}), 16))`,
  newest: `AND accepted_second <= toDateTime({second:UInt32}, 'UTC')
    AND (accepted_second, id) < (toDateTime({second:UInt32}, 'UTC'), toFixedString(unhex({id:String}), 16))`,
}
/** Keys before all others of the list. */
const FIRST: Record<ListOrder, AcceptanceKey> = {
  oldest: { acceptedSecond: 0, id: `event_${'0'.repeat(32)}` },
  newest: { acceptedSecond: LAST_SECOND, id: `event_${'f'.repeat(32)}` },
}
const inOrder = (direction: string): string => `
  ORDER BY namespace_id ${direction}, accepted_second ${direction}, id ${direction}
  LIMIT {limit:UInt32}
  SETTINGS read_in_order_use_buffering = 0`
const IN_ORDER: Record<ListOrder, string> = { oldest: inOrder('ASC'), newest: inOrder('DESC') }
const OF_ACCOUNT = 'AND account_id = {accountId:String}'
const OF_SOURCE = 'AND source = {source:String}'

const ENTRIES_ACCEPTED = `
  SELECT DISTINCT namespace_id, accepted_second, id
  FROM usage_events_by_acceptance
  WHERE accepted_second >= toDateTime({from:UInt32}, 'UTC') AND accepted_second < toDateTime({to:UInt32}, 'UTC')
    AND (namespace_id, accepted_second, id)
      > ({namespaceId:String}, toDateTime({second:UInt32}, 'UTC'), toFixedString(unhex({id:String}), 16))
  ORDER BY namespace_id, accepted_second, id
  LIMIT {limit:UInt32}
  FORMAT RowBinary`

// Ids that were made from the same idempotency key have the same end. Why splits: grouping keeps every id in memory,
// and each query groups only the ids of one split. Why the end is a number of 64 bits: it takes less memory than text.
const COUNT_ACCEPTED = `
  SELECT toString(count()) AS count FROM usage_events_by_acceptance
  WHERE accepted_second >= toDateTime({from:UInt32}, 'UTC') AND accepted_second < toDateTime({to:UInt32}, 'UTC')`
const ALIKE = `
  SELECT namespace_id, hex(substring(id, 5)) AS ending,
    arraySort(groupUniqArray(concat('event_', lower(hex(id))))) AS ids
  FROM usage_events_by_acceptance
  WHERE accepted_second >= toDateTime({from:UInt32}, 'UTC') AND accepted_second < toDateTime({to:UInt32}, 'UTC')
    AND reinterpretAsUInt64(substring(id, 5, 8)) IN (
      SELECT ending FROM (
        SELECT reinterpretAsUInt64(substring(id, 5, 8)) AS ending, min(substring(id, 1, 4)) AS first, max(substring(id, 1, 4)) AS last
        FROM usage_events_by_acceptance
        WHERE accepted_second >= toDateTime({from:UInt32}, 'UTC') AND accepted_second < toDateTime({to:UInt32}, 'UTC')
          AND reinterpretAsUInt16(substring(id, 13, 2)) % {splits:UInt16} = {split:UInt16}
        GROUP BY ending
        HAVING first != last
        LIMIT {limit:UInt32}))
  GROUP BY namespace_id, ending
  HAVING length(ids) > 1
  ORDER BY ids
  LIMIT {limit:UInt32}`
/** The number of ids in a split. It bounds the memory that grouping takes. */
const IDS_A_SPLIT = 4_000_000

const LISTED = `
  SELECT DISTINCT toUnixTimestamp(accepted_second) AS second, concat('event_', lower(hex(id))) AS event_id
  FROM usage_events_by_acceptance
  WHERE namespace_id = {namespaceId:String}
    AND accepted_second IN (SELECT toDateTime(arrayJoin({seconds:Array(UInt32)}), 'UTC'))
    AND id IN (SELECT toFixedString(unhex(arrayJoin({ids:Array(String)})), 16))`

/** Lists usage events in order of the second they were accepted in, then of their ids. */
export const usageEventListRepository = (client: ClickHouse) => {
  const events = usageEventRepository(client)

  return {
    /** One page of events, each in its newest version. */
    async listByAcceptance(
      namespaceId: string,
      filter: UsageEventFilter,
      page: AcceptedPage,
    ): Promise<CurrentEvent[]> {
      const { limit } = page
      const listed: CurrentEvent[] = []
      let last: AcceptanceKey | undefined = page.after
      while (listed.length < limit) {
        const keys = await listKeys(client, namespaceId, filter, { ...page, after: last })
        const current = await events.listByIds(
          namespaceId,
          [...new Set(keys.map(({ id }) => id))],
          [...new Set(keys.map((row) => row.accountId))],
        )
        for (const { id, acceptedSecond } of keys) {
          const event = current.get(id)
          // A later report of the same event has a row in the list, too. The event is listed only at its first report.
          if (event === undefined || unixSeconds(event.acceptedAt) !== acceptedSecond) continue
          // Rows of one report that are not merged yet are adjacent.
          if (listed.at(-1)?.id !== id) listed.push(event)
        }
        if (keys.length < limit) break
        last = keys.at(-1)
      }
      return listed.slice(0, limit)
    },

    /**
     * For the audit: one page of the entries of all namespaces in a range of whole seconds.
     *
     * @param after the last entry of the page before, or undefined for the first page
     */
    async listEntriesAccepted({ from, to, after, limit }: EntriesPage): Promise<BinaryEntry[]> {
      const bytes = await queryBytes(client, ENTRIES_ACCEPTED, {
        from,
        to,
        namespaceId: after?.namespaceId ?? '',
        second: after?.acceptedSecond ?? 0,
        id: after?.id.toString('hex') ?? '0'.repeat(32),
        limit,
      })
      return entriesFromBytes(bytes)
    },

    /**
     * For the audit: events that were accepted in a range of seconds and whose ids have the same end. Events with the
     * same idempotency key and different times of occurrence have such ids.
     */
    async listAlike(
      range: { from: number; to: number },
      limit: number,
    ): Promise<{ namespaceId: string; ids: string[] }[]> {
      const [counted] = await queryRows<{ count: string }>(client, COUNT_ACCEPTED, range)
      const splits = Math.max(1, Math.ceil(Number(counted?.count ?? 0) / IDS_A_SPLIT))
      const alike: { namespaceId: string; ids: string[] }[] = []
      for (let split = 0; split < splits && alike.length < limit; split++)
        for (const row of await queryRows<{ namespace_id: string; ids: string[] }>(client, ALIKE, {
          ...range,
          splits,
          split,
          limit,
        }))
          alike.push({ namespaceId: row.namespace_id, ids: row.ids })
      return alike.slice(0, limit)
    },

    /** For the audit: returns those of the keys that are in the list. */
    async listListed<T extends AcceptanceKey>(namespaceId: string, keys: readonly T[]): Promise<Set<T>> {
      const listed = new Set<T>()
      for (let start = 0; start < keys.length; start += IDS_AT_ONCE) {
        const some = keys.slice(start, start + IDS_AT_ONCE)
        const rows = await queryRows<KeyRow>(client, LISTED, {
          namespaceId,
          seconds: [...new Set(some.map(({ acceptedSecond }) => acceptedSecond))],
          ids: some.map(({ id }) => id.slice('event_'.length)),
        })
        const found = new Set(rows.map((row) => `${row.second} ${row.event_id}`))
        for (const key of some) if (found.has(`${key.acceptedSecond} ${key.id}`)) listed.add(key)
      }
      return listed
    },
  }
}

/** Rows of the list, in order; an event may have several until they are merged. */
async function listKeys(
  client: ClickHouse,
  namespaceId: string,
  { accountId, source }: UsageEventFilter,
  { order, limit, after = FIRST[order], before }: AcceptedPage,
): Promise<(AcceptanceKey & { accountId: string })[]> {
  const query = [
    KEYS,
    KEYS_AFTER[order],
    ...(accountId === undefined ? [] : [OF_ACCOUNT]),
    ...(source === undefined ? [] : [OF_SOURCE]),
    IN_ORDER[order],
  ].join('\n')
  const rows = await queryRows<KeyRow & { account_id: string }>(client, query, {
    namespaceId,
    second: after.acceptedSecond,
    id: after.id.slice('event_'.length),
    before,
    limit,
    ...(accountId === undefined ? {} : { accountId }),
    ...(source === undefined ? {} : { source }),
  })
  return rows.map((row) => ({ ...keyFromRow(row), accountId: row.account_id }))
}

const keyFromRow = (row: KeyRow): AcceptanceKey => ({ acceptedSecond: row.second, id: row.event_id })

/** Parses RowBinary: for each entry the length of the namespace id, the namespace id, the second, and the event id. */
function entriesFromBytes(bytes: Buffer): BinaryEntry[] {
  const entries: BinaryEntry[] = []
  let namespaceId = ''
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at] ?? 0
    if (length > 127) throw new RangeError('a namespace id of more than 127 bytes')
    const end = at + 1 + length
    const text = bytes.toString('latin1', at + 1, end)
    if (text !== namespaceId) namespaceId = text // adjacent entries share one string
    entries.push({
      namespaceId,
      acceptedSecond: bytes.readUInt32LE(end),
      id: bytes.subarray(end + 4, end + 20),
    })
    at = end + 20
  }
  return entries
}
