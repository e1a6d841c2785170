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
   * A JSON object as text, exactly as it is stored: in canonical order, unless it was stored before that order
   * existed.
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

/** How far in the future usage may be, in seconds. */
const OCCURRED_AHEAD_MAX_S = 5 * 60
/** The seconds of the shortest year. */
const YEAR_S = 365 * 86_400

/**
 * Says in one clause why usage cannot have happened at a time, or undefined when it can.
 *
 * @param occurredAt, now Unix seconds
 */
export function findTimeFault(occurredAt: number, now: number): string | undefined {
  // Most usage is of today, so the calendar is used only for times that may be too old.
  if (occurredAt < now - YEARS_BACK * YEAR_S && occurredAt < earliestSecond(now))
    return 'lies more than five years back'
  if (liesTooFarAhead(occurredAt, now)) return 'lies more than five minutes ahead'
  return undefined
}

/** Whether usage is further in the future than it may be; both in Unix seconds. */
export const liesTooFarAhead = (occurredAt: number, now: number): boolean =>
  occurredAt > now + OCCURRED_AHEAD_MAX_S

/**
 * What makes an event's identity, beside account and source. Each kind has its own tag, so that ids of two kinds never
 * collide.
 */
export type IdentityKey =
  | { kind: 'event'; key: string }
  | { kind: 'route'; route: string; key: string; index: number }
  // For requests that began before identities contained the route. At that time, a key gave the same ids on both
  // routes.
  | { kind: 'request'; key: string; index: number }
  | { kind: 'random' }

/**
 * The id of a usage event: `event_`, then `occurredAt` as a 32-bit number in 8 hexadecimal digits, then 24 digits.
 * These are the first 96 bits of a SHA-256 over tag, namespace, account, source and key, each preceded by its length.
 * So a report has the same id on any gateway, without a look-up, and the id alone shows the event's time slot.
 *
 * @param occurredAt Unix time in seconds, 0 to 2^32 - 1
 * @param key the event's own idempotency key; or the route, the request's Idempotency-Key header and the event's index
 *   in the request, because a header identifies one request of its route; or `random`, which makes every report a
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

/** Where the digits after the time begin in an event's id. */
const IDENTITY_AT = 'event_'.length + 8
/** The hexadecimal digits that a number represents exactly. */
const EXACT_DIGITS = 12

/** The first 48 bits of what follows the time in an event's id, as a number: few events of one time share them. */
export const identityNumber = (eventId: string): number =>
  parseInt(eventId.slice(IDENTITY_AT, IDENTITY_AT + EXACT_DIGITS), 16)

function identityDigits(namespaceId: string, accountId: string, source: string, key: IdentityKey): string {
  switch (key.kind) {
    case 'random':
      return randomHex(12)
    case 'event':
      return digest96(['tally/event', namespaceId, accountId, source, key.key])
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
 * The version of a report. It decreases with `acceptedAt`, so of several reports of one event the first wins. It leaves
 * the highest bit free: corrections, which set it, win over every report. Its lowest 8 bits come from the content, so
 * that reports with different contents have the same version only if they were accepted in the same microsecond, and
 * then by a chance of 1 in 256.
 *
 * @param content see contentOf
 */
export function reportVersion(acceptedAt: Micros, content: string): bigint {
  if (versionTop.at !== acceptedAt)
    versionTop = { at: acceptedAt, bits: (REPORT_TOP - BigInt(acceptedAt)) << CONTENT_BITS }
  return versionTop.bits | BigInt(crc32(content) & CONTENT_MASK)
}

/** The highest bit: any correction wins over any report. */
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
 * The high bits of the last report's version. They are kept because all events of a request have the same acceptedAt.
 */
let versionTop = { at: -1, bits: 0n }

/** The fields in which two reports or corrections of an event may differ. */
interface Content {
  /** Canonical decimal text. */
  quantity: string
  properties: string
  voided?: boolean
}

/** The content as text, from which versions are computed; the properties are as they are stored. */
export const contentOf = (event: Content): string =>
  `${event.quantity}\n${event.voided === true ? 'voided' : ''}\n${event.properties}`

/** Whether two contents are equal; properties may have their fields in any order. */
export const isSameContent = (a: Content, b: Content): boolean =>
  a.quantity === b.quantity &&
  (a.voided === true) === (b.voided === true) &&
  isSameJson(a.properties, b.properties)
