import { canonicalAmount } from '../../shared/amount/amount.ts'
import { findInexactNumbers, type InexactNumber } from '../../shared/amount/exact-number.ts'
import { checkProperties, type Properties, propertyPairs } from '../../shared/domain/properties.ts'
import { type CloudEventKey, findTimeFault } from '../../shared/domain/usage-event.ts'
import { namedSources, type UsageSource } from '../../shared/domain/usage-source.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { type Fault, impossible, malformed } from './faults.ts'

/** An event as a caller reports it, after the check against openapi.yaml. A null field means the same as no field. */
export type ReportedEvent = SchemaOf<'NewUsageEvent'>

/** A reported event after all checks. It lacks only the caller's namespace and the time of acceptance. */
export interface CheckedEvent {
  accountId: string
  source: UsageSource
  /** Canonical decimal text. */
  quantity: string
  /** Unix seconds; undefined when the event happens at its acceptance. */
  occurredAt: number | undefined
  /** What identifies the event: its own idempotency key, or that of its CloudEvent. */
  key: string | CloudEventKey | undefined
  /** JSON text. */
  properties: string
  propertyPairs: readonly string[]
  hasNumber: boolean
}

const NO_PROPERTIES: Properties = {}

/** How a request writes its events. */
export interface EventForm {
  /** The names of fields in faults. */
  names: Record<'accountId' | 'metricId' | 'occurredAt' | 'properties' | 'key', string>
  /** What identifies an event. */
  keyOf: (event: ReportedEvent, index: number) => CheckedEvent['key']
  /**
   * Finds the events whose properties contain a number that lost digits when the request was parsed.
   *
   * @param body the bytes of the whole request, as they were parsed
   * @returns faults by the index of the event
   */
  findLostDigits: (body: Buffer) => Map<number, Fault>
}

/** The form of `NewUsageEvent` in openapi.yaml. */
export const NATIVE_FORM: EventForm = {
  names: {
    accountId: 'account_id',
    metricId: 'metric_id',
    occurredAt: 'occurred_at',
    properties: 'properties',
    key: 'idempotency_key',
  },
  keyOf: (event) => event.idempotency_key ?? undefined,
  findLostDigits,
}

/**
 * Checks one reported event for faults that a schema cannot express.
 *
 * @param now Unix seconds
 */
export function checkEvent(
  event: ReportedEvent,
  now: number,
  { names, keyOf }: EventForm = NATIVE_FORM,
  index = 0,
): CheckedEvent | Fault {
  const [source, ...others] = namedSources(event)
  if (source === undefined || others.length > 0)
    return impossible('metric_id, currency: exactly one of them is required')
  const occurredAt = event.occurred_at ?? undefined
  const key = keyOf(event, index)
  if (occurredAt === undefined && key !== undefined)
    return impossible(
      'occurred_at: required with idempotency_key, because the key identifies an event at one time',
    )
  const timeFault = occurredAt === undefined ? undefined : findTimeFault(occurredAt, now)
  if (timeFault !== undefined) return impossible(`${names.occurredAt}: ${timeFault}`)
  if (typeof key === 'string' && (key.includes('\0') || !key.isWellFormed()))
    return malformed('idempotency_key: holds a NUL character or half of a surrogate pair')
  const properties = event.properties ?? NO_PROPERTIES
  const checked = checkProperties(properties)
  if ('fault' in checked) return malformed(`${names.properties}: they ${checked.fault}`)
  return {
    accountId: event.account_id,
    source,
    quantity: canonicalAmount(event.quantity),
    occurredAt,
    key,
    properties: checked.json,
    propertyPairs: propertyPairs(properties),
    hasNumber: checked.hasNumber,
  }
}

/**
 * Finds the events or corrections whose properties contain a number that lost digits when the request was parsed.
 *
 * @param body the bytes of the whole request, as they were parsed
 * @returns faults by the index of the item in the request
 */
export function findLostDigits(body: Buffer): Map<number, Fault> {
  const faults = new Map<number, Fault>()
  for (const found of findInexactNumbers(body.toString())) {
    if (faults.size > NAMED_MAX) break
    faults.set(found.element, lostDigits('properties', found))
  }
  return faults
}

/** The fault of an event with a number that lost digits when it was parsed. @param name the field with the number */
export function lostDigits(name: string, { text }: Pick<InexactNumber, 'text'>): Fault {
  const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
  return malformed(`${name}: the number ${shown} would lose digits in a 64-bit float, send it as text`)
}

const SHOWN_MAX = 60
/** An answer names no more faults than this. */
export const NAMED_MAX = 20
