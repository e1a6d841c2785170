import { Readable } from 'node:stream'
import type { ClickHouseSettings } from '@clickhouse/client'
import { keyBucketOf } from '../../domain/time-range.ts'
import { occurredAtOfEventId, type UsageEvent } from '../../domain/usage-event.ts'
import { parseMicros } from '../../time/micros-text.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

/**
 * Settings of an insert that leave work to merges: collapsing the rows of an event (every reader uses FINAL anyway),
 * and building the index of properties (until a part is merged, all its rows are read). See
 * docs/decisions/0015-inserts-leave-work-to-merges.md. A field that a later version has added is passed over.
 */
const INSERT_SETTINGS: ClickHouseSettings = {
  optimize_on_insert: 0,
  materialize_skip_indexes_on_insert: 0,
  input_format_skip_unknown_fields: 1,
}

/** A usage event in its newest version. */
export type CurrentEvent = Omit<UsageEvent, 'namespaceId' | 'propertyPairs'>

const INSERT = `
  INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties,
    property_pairs, accepted_at, corrected_at, voided, version)
  FORMAT JSONEachRow`

/** Columns of usage_events AS e; see eventFromRow. */
export const EVENT_COLUMNS = `
    concat('event_', lower(hex(e.id))) AS event_id, e.account_id AS account_id, e.source AS source,
    toString(e.quantity) AS quantity, toUnixTimestamp(e.occurred_at) AS occurred_at,
    toString(e.accepted_at) AS accepted_at, toString(e.corrected_at) AS corrected_at,
    e.properties AS properties, e.voided AS voided, toString(e.version) AS version`
// Why PREWHERE, which FINAL does not choose by itself: these columns are in the sorting key, so all rows of an event
// match or none does, and the wide columns are read only for those that match.
const EVENTS_BY_KEY = `
  SELECT ${EVENT_COLUMNS}
  FROM usage_events AS e FINAL
  PREWHERE e.namespace_id = {namespaceId:String}
    AND toStartOfFiveMinutes(e.occurred_at) IN (SELECT toDateTime(arrayJoin({buckets:Array(UInt32)}), 'UTC'))
    AND e.occurred_at IN (SELECT toDateTime(arrayJoin({seconds:Array(UInt32)}), 'UTC'))
    AND e.id IN (SELECT toFixedString(unhex(arrayJoin({ids:Array(String)})), 16))`
const OF_ACCOUNTS = 'AND e.account_id IN (SELECT arrayJoin({accountIds:Array(String)}))'

const MISPLACED = `
  SELECT concat('event_', lower(hex(id))) AS event_id FROM usage_events
  WHERE accepted_at >= toDateTime({from:UInt32}, 'UTC') AND accepted_at < toDateTime({to:UInt32}, 'UTC')
    AND reinterpretAsUInt32(reverse(substring(id, 1, 4))) != toUnixTimestamp(occurred_at)
  LIMIT {limit:UInt32}`

/** A server accepts 128 KiB in a parameter (http_max_field_value_size); an id, quoted and encoded, takes 39 bytes. */
export const IDS_AT_ONCE = 3_000

export interface EventRow {
  event_id: string
  account_id: string
  source: string
  quantity: string
  occurred_at: number
  accepted_at: string
  corrected_at: string | null
  properties: string
  voided: number
  version: string
}

/**
 * Stores usage events in ClickHouse and finds them by id. Reads return an event once, however often it was loaded.
 */
export const usageEventRepository = (client: ClickHouse) => ({
  /**
   * Stores lines of the event log unchanged. When the promise resolves, the lines are on disk. Storing a line again
   * changes nothing.
   *
   * @param lines newline-delimited JSON, each line as usageEventToLine writes it
   */
  insertLines: (lines: Buffer): Promise<void> => insert(client, INSERT, lines),

  /**
   * The events with these ids, each in its newest version; ids that are not stored are absent.
   *
   * @param accountIds the accounts of the events, if the caller has them. Without accounts, whole key buckets are read,
   *   which is slow when a bucket has many events
   */
  async listByIds(
    namespaceId: string,
    ids: readonly string[],
    accountIds?: readonly string[],
  ): Promise<Map<string, CurrentEvent>> {
    return new Map((await this.listRows(namespaceId, ids, accountIds)).map((event) => [event.id, event]))
  },

  /**
   * Every row that counts for these ids: one for each id, unless something other than a loader wrote into the table.
   */
  async listRows(
    namespaceId: string,
    ids: readonly string[],
    accountIds?: readonly string[],
  ): Promise<CurrentEvent[]> {
    const query = accountIds === undefined ? EVENTS_BY_KEY : `${EVENTS_BY_KEY} ${OF_ACCOUNTS}`
    const events: CurrentEvent[] = []
    for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
      const some = ids.slice(start, start + IDS_AT_ONCE)
      const seconds = [...new Set(some.map(occurredAtOfEventId))]
      const rows = await queryRows<EventRow>(client, query, {
        namespaceId,
        seconds,
        buckets: [...new Set(seconds.map(keyBucketOf))],
        ids: some.map((id) => id.slice('event_'.length)),
        ...(accountIds === undefined ? {} : { accountIds }),
      })
      events.push(...rows.map(eventFromRow))
    }
    return events
  },

  /** For the audit: ids of rows whose time differs from the time in their id, so that no look-up finds them. */
  async listMisplaced(from: number, to: number, limit: number): Promise<string[]> {
    const rows = await queryRows<{ event_id: string }>(client, MISPLACED, { from, to, limit })
    return rows.map((row) => row.event_id)
  },
})

async function insert(client: ClickHouse, query: string, lines: Buffer): Promise<void> {
  // Why exec: insert() would need each line as an object, only to write it as text again.
  const { stream } = await client.exec({
    query,
    clickhouse_settings: INSERT_SETTINGS,
    values: Readable.from([lines], { objectMode: false }),
  })
  await stream.toArray() // until the answer ends; it is empty
}

export function eventFromRow(row: EventRow): CurrentEvent {
  return {
    id: row.event_id,
    accountId: row.account_id,
    source: row.source,
    quantity: row.quantity,
    occurredAt: row.occurred_at,
    acceptedAt: microsFromRow(row.accepted_at),
    correctedAt: row.corrected_at === null ? null : microsFromRow(row.corrected_at),
    properties: row.properties,
    voided: row.voided === 1,
    version: BigInt(row.version),
  }
}

function microsFromRow(text: string): number {
  const at = parseMicros(text)
  if (at === undefined) throw new RangeError(`not a time from ClickHouse: ${text}`)
  return at
}
