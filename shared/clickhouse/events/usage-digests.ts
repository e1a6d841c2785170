import { keyBucketOf } from '../../domain/time-range.ts'
import { DIGEST_BYTES } from '../../usage-lines/log-line-digest.ts'
import { type ClickHouse, queryBytes, queryRows } from '../clickhouse.ts'
import { IDS_AT_ONCE } from './usage-events.ts'

// The beginning of the line that usageEventToLine writes, up to the property pairs.
const LINE_START = `concat('{"namespace_id":"', e.namespace_id, '","account_id":"', e.account_id, '","source":"', e.source,
    '","occurred_at":', toString(toUnixTimestamp(e.occurred_at)), ',"event_id":"event_', lower(hex(e.id)),
    '","quantity":"', toString(e.quantity), '","properties":', e.properties)`

// Conditions on columns of the sorting key only: they match all rows of an event or none.
const IN_SECONDS = `
  PREWHERE e.namespace_id = {namespaceId:String}
    AND toStartOfFiveMinutes(e.occurred_at) IN (SELECT toDateTime(arrayJoin({buckets:Array(UInt32)}), 'UTC'))
    AND e.occurred_at IN (SELECT toDateTime(arrayJoin({seconds:Array(UInt32)}), 'UTC'))`
const OF_SPLIT = 'AND reinterpretAsUInt16(substring(e.id, 15, 2)) % {splits:UInt16} = {split:UInt16}'
const OF_IDS = 'AND e.id IN (SELECT toFixedString(unhex(arrayJoin({ids:Array(String)})), 16))'

const DIGESTS = `
  SELECT e.id, e.version, e.accepted_at, toUInt8(e.voided = 0 AND e.corrected_at IS NULL),
    toFixedString(substring(SHA256(${LINE_START}), 1, ${DIGEST_BYTES}), ${DIGEST_BYTES})
  FROM usage_events AS e FINAL ${IN_SECONDS}`
const COUNT_BY_SECOND = `
  SELECT toUnixTimestamp(e.occurred_at) AS second, toString(count()) AS count
  FROM usage_events AS e ${IN_SECONDS}
  GROUP BY second`
const AS_BYTES = 'FORMAT RowBinary'

/** Byte offsets of a row's fields: id, version, accepted_at, whether the event counts as it was reported, digest. */
export const DIGEST_ROW = { id: 0, version: 16, acceptedAt: 24, isReport: 32, digest: 33, bytes: 49 } as const

/** The seconds whose events are read. If these seconds have too many rows, their events are read in several splits. */
export interface SecondsSplit {
  seconds: readonly number[]
  split: number
  splits: number
}

/**
 * For the audit: events in their newest version, each as 49 bytes (DIGEST_ROW). The content is given as the digest that
 * digestOfLogLine computes from the line. ClickHouse computes the digests itself, so the audit of millions of events
 * transfers little data.
 */
export const usageDigestRepository = (client: ClickHouse) => ({
  /** The number of rows in each of these seconds; an event may have several until they are merged. */
  async countBySecond(namespaceId: string, seconds: readonly number[]): Promise<Map<number, number>> {
    const counts = new Map<number, number>()
    for (let start = 0; start < seconds.length; start += IDS_AT_ONCE) {
      const params = paramsOf(namespaceId, seconds.slice(start, start + IDS_AT_ONCE))
      for (const row of await queryRows<{ second: number; count: string }>(client, COUNT_BY_SECOND, params))
        counts.set(row.second, Number(row.count))
    }
    return counts
  },

  /** All events that occurred in these seconds. */
  listOfSeconds(namespaceId: string, { seconds, split, splits }: SecondsSplit): Promise<Buffer> {
    const params = { ...paramsOf(namespaceId, seconds), split, splits }
    return queryBytes(client, `${DIGESTS} ${OF_SPLIT} ${AS_BYTES}`, params)
  },

  /** @param ids 32 hexadecimal digits each, of events that occurred in these seconds */
  listOfIds(namespaceId: string, seconds: readonly number[], ids: readonly string[]): Promise<Buffer> {
    const params = { ...paramsOf(namespaceId, seconds), ids }
    return queryBytes(client, `${DIGESTS} ${OF_IDS} ${AS_BYTES}`, params)
  },
})

const paramsOf = (namespaceId: string, seconds: readonly number[]) => ({
  namespaceId,
  seconds,
  buckets: [...new Set(seconds.map(keyBucketOf))],
})
