import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Micros } from '../time/microsecond-clock.ts'
import { isSameJson } from './canonical-json.ts'
import { earliestSecond, YEARS_BACK } from './period.ts'
import { randomHex } from './random-hex.ts'
import type { UsageSource } from './usage-source.ts'

/** One reported use, in the form of the event log and ClickHouse. */
export interface UsageEvent {
  namespaceId: string
  /** `event_` and 32 hexadecimal digits; see usageEventId. */
  id: string
  accountId: string
  source: UsageSource
  /** Canonical decimal text, in the metric's unit or in the currency's major unit. */
  quantity: string
  /** When the use happened: Unix time in seconds. */
  occurredAt: number
  /** When the gateway accepted the report. */
  acceptedAt: Micros
  /**
   * A JSON object as text, exactly as it is stored. Its fields have the canonical order, unless an older version of
   * Tally stored the event.
   */
  properties: string
  /** See propertyPairs. */
  propertyPairs: readonly string[]
  /** When the gateway accepted the correction; null if this row is a report. */
  correctedAt: Micros | null
  voided: boolean
  /** Decides which row of an event counts; see reportVersion and correctionVersion. */
  version: bigint
}

/** The largest number of seconds by which usage may be in the future. */
const OCCURRED_AHEAD_MAX_S = 5 * 60
/** The seconds of the shortest year. */
const YEAR_S = 365 * 86_400

/**
 * The reason, as one clause, why usage with this time is refused; undefined if the time is valid.
 *
 * @param occurredAt, now Unix seconds
 */
export function findTimeFault(occurredAt: number, now: number): string | undefined {
  // Most usage is recent, so the slower calendar computation is used only for times that may be too old.
  if (occurredAt < now - YEARS_BACK * YEAR_S && occurredAt < earliestSecond(now))
    return 'lies more than five years back'
  if (liesTooFarAhead(occurredAt, now)) return 'lies more than five minutes ahead'
  return undefined
}

/** Whether usage is too far in the future. Both times are Unix seconds. */
export const liesTooFarAhead = (occurredAt: number, now: number): boolean =>
  occurredAt > now + OCCURRED_AHEAD_MAX_S

/**
 * The part of an event's identity besides account, source and time. Each kind has its own tag in the digest, so that
 * keys of two kinds never give the same id.
 */
export type IdentityKey =
  | { kind: 'event'; key: string }
  | { kind: 'route'; route: string; key: string; index: number }
  // For requests that were begun by a version of Tally whose identities did not contain the route. In that version, a
  // key gave the same ids on both routes.
  | { kind: 'request'; key: string; index: number }
  | CloudEventKey
  | { kind: 'random' }

/** What identifies a CloudEvent: an `id` is unique only within its `source`. */
export interface CloudEventKey {
  kind: 'cloudevent'
  source: string
  id: string
}

/**
 * The id of a usage event: `event_`, then `occurredAt` as a 32-bit number in 8 hexadecimal digits, then 24 digits. The
 * 24 digits are the first 96 bits of a SHA-256 over tag, namespace, account, source and key, each preceded by its
 * length. So every gateway computes the same id for a report, without a look-up, and the id shows the event's time
 * slot.
 *
 * @param occurredAt Unix time in seconds, 0 to 2^32 - 1
 * @param key one of: the event's own idempotency key; source and id of its CloudEvent; the route, the request's Idempotency-Key header and the event's
 *   index in the request, because a header identifies one request of its route; `random`, which makes every report a
 *   separate event
 */
export function usageEventId(
  namespaceId: string,
  accountId: string,
  source: UsageSource,
  occurredAt: number,
  key: IdentityKey,
): string {
  const time = occurredAt.toString(16).padStart(8, '0')
  return `event_${time}${identityDigits(namespaceId, accountId, source, key)}`
}

/** The index in an event's id at which the digits after the time begin. */
const IDENTITY_AT = 'event_'.length + 8
/** The hexadecimal digits that a number represents exactly. */
const EXACT_DIGITS = 12

/** The first 48 bits after the time in an event's id, as a number. Few events of one time have the same number. */
export const identityNumber = (eventId: string): number =>
  parseInt(eventId.slice(IDENTITY_AT, IDENTITY_AT + EXACT_DIGITS), 16)

function identityDigits(namespaceId: string, accountId: string, source: string, key: IdentityKey): string {
  switch (key.kind) {
    case 'random':
      return randomHex(12)
    case 'event':
      return digest96(['tally/event', namespaceId, accountId, source, key.key])
    case 'cloudevent':
      return digest96(['tally/cloudevent', namespaceId, accountId, source, key.source, key.id])
    case 'route':
      return digest96([
        'tally/route',
        namespaceId,
        accountId,
        source,
        key.route,
        key.key,
        key.index.toString(),
      ])
    case 'request':
      return digest96(['tally/request', namespaceId, accountId, source, key.key, key.index.toString()])
  }
}

/**
 * The first 96 bits of a SHA-256 over parts, as 24 hexadecimal digits. Different parts never give the same text to
 * hash.
 */
function digest96(parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${Buffer.byteLength(part)}:${part}`
  return hash('sha256', text, 'hex').slice(0, 24)
}

/** The second in which an event happened, read from its id. */
export const occurredAtOfEventId = (id: string): number => parseInt(id.slice('event_'.length, 14), 16)

const CONTENT_BITS = 8n
const CONTENT_MASK = 0xff
const REPORT_TOP = (1n << 55n) - 1n

/**
 * The version of a report. It decreases with `acceptedAt`, so of several reports of one event the first wins. Its
 * highest bit is 0. Corrections set that bit, so they win over every report. Its lowest 8 bits come from the content.
 * So reports with different contents have the same version only if they were accepted in the same microsecond, and even
 * then only with a probability of 1 in 256.
 *
 * @param content see contentOf
 */
export function reportVersion(acceptedAt: Micros, content: string): bigint {
  if (versionTop.at !== acceptedAt)
    versionTop = { at: acceptedAt, bits: (REPORT_TOP - BigInt(acceptedAt)) << CONTENT_BITS }
  return versionTop.bits | BigInt(crc32(content) & CONTENT_MASK)
}

/** The highest bit of a version. It is set in corrections, so that any correction wins over any report. */
const CORRECTION = 1n << 63n

/**
 * The version of a correction. It is higher than every report's version and grows with `correctedAt`, so of several
 * corrections of one event the last wins. Its lowest 8 bits come from the content, as in a report's version.
 *
 * @param content see contentOf
 */
export const correctionVersion = (correctedAt: Micros, content: string): bigint =>
  CORRECTION | (BigInt(correctedAt) << CONTENT_BITS) | BigInt(crc32(content) & CONTENT_MASK)

/**
 * The high bits of the last report's version. They are cached because all events of a request have the same acceptedAt.
 */
let versionTop = { at: -1, bits: 0n }

/** The fields in which two reports or corrections of an event may differ. */
interface Content {
  /** Canonical decimal text. */
  quantity: string
  properties: string
  voided?: boolean
}

/** The content as text, from which versions are computed. The properties are in their stored form. */
export const contentOf = (event: Content): string =>
  `${event.quantity}\n${event.voided === true ? 'voided' : ''}\n${event.properties}`

/** Whether two contents are equal; properties may have their fields in any order. */
export const isSameContent = (a: Content, b: Content): boolean =>
  a.quantity === b.quantity &&
  (a.voided === true) === (b.voided === true) &&
  isSameJson(a.properties, b.properties)
