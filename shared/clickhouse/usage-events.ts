import { Readable } from 'node:stream'
import { amountFromDatabase } from '../amount/amount.ts'
import { clampRange, slotOf, type TimeRange } from '../domain/time-slot.ts'
import type { UsageAggregate } from '../domain/usage-aggregate.ts'
import { occurredAtOfEventId, type UsageEvent, type UsageSource } from '../domain/usage-event.ts'
import { parseMicros } from '../time/micros-text.ts'
import { unixSeconds } from '../time/microsecond-clock.ts'
import { queryRows, type ClickHouse } from './clickhouse.ts'

/** A usage event as it counts now. */
export type CurrentEvent = Omit<UsageEvent, 'namespaceId' | 'propertyPairs'>

/** A place in the list of events by acceptance. */
export interface AcceptancePlace {
  acceptedSecond: number
  id: string
}

const INSERT = `
  INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties,
    property_pairs, accepted_at, corrected_at, voided, version)
  FORMAT JSONEachRow`

// Why toDecimal256: a sum of Decimal128 wraps around in silence. Why text: bare decimals in JSON are read as doubles.
const AGGREGATES = `
  source,
  toString(count()) AS count,
  toString(sum(toDecimal256(quantity, 18))) AS sum,
  toString(min(quantity)) AS min,
  toString(max(quantity)) AS max,
  toString(argMax(quantity, (occurred_at, accepted_at, id))) AS latest`

const IN_RANGE = `
  toStartOfFiveMinutes(occurred_at) >= toDateTime({firstSlot:UInt32}, 'UTC')
  AND toStartOfFiveMinutes(occurred_at) <= toDateTime({lastSlot:UInt32}, 'UTC')
  AND occurred_at >= toDateTime({startAt:UInt32}, 'UTC') AND occurred_at < toDateTime({endAt:UInt32}, 'UTC')`

const ACCOUNT_USAGE = `
  SELECT ${AGGREGATES} FROM usage_events FINAL
  WHERE namespace_id = {namespaceId:String} AND account_id = {accountId:String} AND voided = 0 AND ${IN_RANGE}
    AND (empty({sources:Array(String)}) OR has({sources:Array(String)}, source))
  GROUP BY source`

const EVENTS_BY_KEY = `
  SELECT
    concat('event_', lower(hex(e.id))) AS event_id, e.account_id AS account_id, e.source AS source,
    toString(e.quantity) AS quantity, toUnixTimestamp(e.occurred_at) AS occurred_at,
    toString(e.accepted_at) AS accepted_at, toString(e.corrected_at) AS corrected_at,
    e.properties AS properties, e.voided AS voided, toString(e.version) AS version
  FROM usage_events AS e FINAL
  WHERE e.namespace_id = {namespaceId:String}
    AND toStartOfFiveMinutes(e.occurred_at) IN (SELECT toDateTime(arrayJoin({slots:Array(UInt32)}), 'UTC'))
    AND e.occurred_at IN (SELECT toDateTime(arrayJoin({seconds:Array(UInt32)}), 'UTC'))
    AND e.id IN (SELECT toFixedString(unhex(arrayJoin({ids:Array(String)})), 16))`

const EVENTS_AFTER = `
  SELECT toUnixTimestamp(accepted_second) AS accepted_second, concat('event_', lower(hex(id))) AS event_id
  FROM usage_events_by_acceptance
  WHERE namespace_id = {namespaceId:String}
    AND accepted_second >= toDateTime({second:UInt32}, 'UTC') -- the comparison of tuples alone does not use the index
    AND (accepted_second, id) > (toDateTime({second:UInt32}, 'UTC'), toFixedString(unhex({id:String}), 16))
    AND accepted_second < toDateTime({before:UInt32}, 'UTC')
  ORDER BY accepted_second, id
  LIMIT 1 BY accepted_second, id
  LIMIT {limit:UInt32}`

const IDS_ACCEPTED_BETWEEN = `
  SELECT DISTINCT namespace_id, toUnixTimestamp(accepted_second) AS accepted_second,
    concat('event_', lower(hex(id))) AS event_id
  FROM usage_events_by_acceptance
  WHERE accepted_second >= toDateTime({from:UInt32}, 'UTC') AND accepted_second < toDateTime({to:UInt32}, 'UTC')`

const MISPLACED = `
  SELECT concat('event_', lower(hex(id))) AS event_id FROM usage_events
  WHERE accepted_at >= toDateTime({from:UInt32}, 'UTC') AND accepted_at < toDateTime({to:UInt32}, 'UTC')
    AND reinterpretAsUInt32(reverse(substring(id, 1, 4))) != toUnixTimestamp(occurred_at)`

/** A server takes 128 KiB a parameter (http_max_field_value_size); an id, quoted and encoded, is 39 bytes. */
const IDS_AT_ONCE = 3_000

interface AggregateRow {
  source: string
  count: string
  sum: string
  min: string
  max: string
  latest: string
}

interface EventRow {
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

/** Usage events in ClickHouse. Every row that is read counts once, however often it was loaded. */
export const usageEventRepository = (client: ClickHouse) => ({
  /**
   * Stores lines of the event log as they are; when it resolves they are on disk. Storing a line again changes nothing.
   *
   * @param lines newline-delimited JSON, each line as usageEventToLine writes it
   */
  async insertLines(lines: Buffer): Promise<void> {
    // Why exec: insert() would have each line as an object, only to write it out again.
    const { stream } = await client.exec({
      query: INSERT,
      values: Readable.from([lines], { objectMode: false }),
    })
    await stream.toArray() // to the end of the answer, which is empty
  },

  /** The usage of an account in a range, by source; sources without usage are absent. */
  async aggregateByAccount(
    namespaceId: string,
    accountId: string,
    range: TimeRange,
    sources: readonly UsageSource[] = [],
  ): Promise<Map<UsageSource, UsageAggregate>> {
    const { startAt, endAt } = clampRange(range)
    if (startAt >= endAt) return new Map()
    const rows = await queryRows<AggregateRow>(client, ACCOUNT_USAGE, {
      namespaceId,
      accountId,
      startAt,
      endAt,
      firstSlot: slotOf(startAt),
      lastSlot: slotOf(endAt - 1),
      sources,
    })
    return new Map(rows.map((row) => [row.source, aggregateFromRow(row)]))
  },

  /** The events of these ids as they count now; ids that are not stored are absent. */
  async listByIds(namespaceId: string, ids: readonly string[]): Promise<Map<string, CurrentEvent>> {
    return new Map((await this.listRows(namespaceId, ids)).map((event) => [event.id, event]))
  },

  /** Every row that counts for these ids: one each, unless something else than a loader wrote into the table. */
  async listRows(namespaceId: string, ids: readonly string[]): Promise<CurrentEvent[]> {
    const events: CurrentEvent[] = []
    for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
      const some = ids.slice(start, start + IDS_AT_ONCE)
      const seconds = [...new Set(some.map(occurredAtOfEventId))]
      const rows = await queryRows<EventRow>(client, EVENTS_BY_KEY, {
        namespaceId,
        seconds,
        slots: [...new Set(seconds.map(slotOf))],
        ids: some.map((id) => id.slice('event_'.length)),
      })
      events.push(...rows.map(eventFromRow))
    }
    return events
  },

  /**
   * Events in order of the second they were accepted in, then of their ids.
   *
   * @param after the place of the last event of the page before, or undefined for the first page
   * @param before Unix second; events accepted in it or later are left out
   */
  async listByAcceptance(
    namespaceId: string,
    after: AcceptancePlace | undefined,
    before: number,
    limit: number,
  ): Promise<CurrentEvent[]> {
    const events: CurrentEvent[] = []
    let place = after
    while (events.length < limit) {
      const wanted = limit - events.length
      const candidates = await this.listCandidates(namespaceId, place, before, wanted)
      const current = await this.listByIds(
        namespaceId,
        candidates.map(({ id }) => id),
      )
      for (const { id, acceptedSecond } of candidates) {
        const event = current.get(id)
        // A later report of the same event left a row here too; the event is listed where its first report stands.
        if (event !== undefined && unixSeconds(event.acceptedAt) === acceptedSecond) events.push(event)
      }
      if (candidates.length < wanted) break
      place = candidates.at(-1)
    }
    return events
  },

  /** For the audit: the entries of the list by acceptance, of all namespaces, of whole seconds. */
  async listEntriesAccepted(
    from: number,
    to: number,
  ): Promise<(AcceptancePlace & { namespaceId: string })[]> {
    const rows = await queryRows<{ namespace_id: string; accepted_second: number; event_id: string }>(
      client,
      IDS_ACCEPTED_BETWEEN,
      { from, to },
    )
    return rows.map((row) => ({
      namespaceId: row.namespace_id,
      acceptedSecond: row.accepted_second,
      id: row.event_id,
    }))
  },

  /** For the audit: ids of rows that lie at another time than their id says, where no look-up finds them. */
  async listMisplaced(from: number, to: number): Promise<string[]> {
    const rows = await queryRows<{ event_id: string }>(client, MISPLACED, { from, to })
    return rows.map((row) => row.event_id)
  },

  async listCandidates(
    namespaceId: string,
    after: AcceptancePlace | undefined,
    before: number,
    limit: number,
  ): Promise<AcceptancePlace[]> {
    const rows = await queryRows<{ accepted_second: number; event_id: string }>(client, EVENTS_AFTER, {
      namespaceId,
      second: after?.acceptedSecond ?? 0,
      id: after?.id.slice('event_'.length) ?? '0'.repeat(32),
      before,
      limit,
    })
    return rows.map((row) => ({ acceptedSecond: row.accepted_second, id: row.event_id }))
  },
})

function aggregateFromRow(row: AggregateRow): UsageAggregate {
  return {
    count: BigInt(row.count),
    sum: amountFromDatabase(row.sum),
    min: amountFromDatabase(row.min),
    max: amountFromDatabase(row.max),
    latest: amountFromDatabase(row.latest),
  }
}

function eventFromRow(row: EventRow): CurrentEvent {
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
