import { hash } from 'node:crypto'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'

/** Events that ClickHouse generates. Equal parameters give equal events. */
export interface MadeUpEvents {
  namespaceId: string
  metrics: readonly string[]
  /** The number of all events. */
  events: number
  /** Unix seconds. The events are spread evenly from startAt up to endAt, in the order of their numbers. */
  startAt: number
  endAt: number
}

export const ACCOUNTS = 10_000
/**
 * The largest account has this share of all events. Among the others, an account with a lower number has more events.
 */
const LARGEST_SHARE = 0.05
export const LARGEST_ACCOUNT = 0
/** The median account: as many accounts have more events as have fewer. */
export const MEDIAN_ACCOUNT = ACCOUNTS / 2
export const CURRENCY = 'usd'
/** Values of the properties that many events share. */
export const MODELS = ['small', 'medium', 'large', 'huge']
export const REGIONS = ['eu', 'us', 'ap']

/** The id of an account, from 0 to ACCOUNTS - 1. */
export const accountId = (account: number): string => `account_${hash('md5', `account ${account}`, 'hex')}`

/**
 * The account of an event.
 * @param draw from 0 up to 1, evenly distributed
 */
export const accountOfDraw = (draw: number): number =>
  draw < LARGEST_SHARE
    ? LARGEST_ACCOUNT
    : 1 + Math.floor((ACCOUNTS - 1) * ((draw - LARGEST_SHARE) / (1 - LARGEST_SHARE)) ** 2)

const oneOf = (list: readonly string[], number: string): string =>
  `[${list.map((item) => `'${item}'`).join(', ')}][1 + ${number} % ${list.length}]`

const REQUEST_ID = `toString(reinterpretAsUUID(sipHash128(number, 'request')))`

// Ids, versions and pairs have the form of shared/domain/usage-event.ts and properties.ts.
const INSERT = `
  INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, id, quantity, properties, property_pairs,
    accepted_at, version)
  SELECT
    {namespaceId:String},
    concat('account_', lower(hex(MD5(concat('account ', toString(account)))))),
    {sources:Array(String)}[1 + bits % length({sources:Array(String)})],
    toDateTime(second, 'UTC'),
    toFixedString(concat(reverse(reinterpretAsFixedString(second)), substring(rest, 1, 12)), 16),
    amount,
    concat('{"model":"', model, '","region":"', region, '","request_id":"', request_id, '"}') AS json,
    [concat('model=', model), concat('region=', region), concat('request_id=', request_id)],
    fromUnixTimestamp64Micro(accepted, 'UTC'),
    bitShiftLeft(toUInt64(36028797018963967 - accepted), 8) + bitAnd(CRC32(concat(toString(amount), '\\n\\n', json)), 255)
  FROM (
    SELECT
      sipHash64(number, 'draw') / pow(2, 64) AS draw,
      if(draw < ${LARGEST_SHARE}, ${LARGEST_ACCOUNT},
        1 + toUInt32(floor(${ACCOUNTS - 1} * pow((draw - ${LARGEST_SHARE}) / ${1 - LARGEST_SHARE}, 2)))) AS account,
      sipHash64(number, 'bits') AS bits,
      sipHash128(number, 'id') AS rest,
      toUInt32({startAt:UInt32} + intDiv(number * ({endAt:UInt32} - {startAt:UInt32}), {events:UInt64})) AS second,
      toInt64(second) * 1000000 + toInt64(bits % 2000000) AS accepted,
      toDecimal128(toString(bitAnd(bits, 65535)), 18) + toDecimal128(bitAnd(bitShiftRight(bits, 16), 127), 18) / 100 AS amount,
      ${oneOf(MODELS, 'bitShiftRight(bits, 24)')} AS model,
      ${oneOf(REGIONS, 'bitShiftRight(bits, 40)')} AS region,
      ${REQUEST_ID} AS request_id
    FROM numbers({first:UInt64}, {count:UInt64}))`

/** Stores the events of these numbers in one insert. */
export async function insertMadeUpEvents(
  client: ClickHouse,
  { namespaceId, metrics, events, startAt, endAt }: MadeUpEvents,
  first: number,
  count: number,
): Promise<void> {
  await client.command({
    query: INSERT,
    query_params: {
      namespaceId,
      sources: [...metrics, CURRENCY],
      events,
      startAt,
      endAt,
      first,
      count: Math.min(count, events - first),
    },
  })
}

/** The values of the property request_id of these events; each event has its own. */
export const REQUEST_IDS = `SELECT ${REQUEST_ID} AS request_id FROM (SELECT arrayJoin({numbers:Array(UInt64)}) AS number)`
