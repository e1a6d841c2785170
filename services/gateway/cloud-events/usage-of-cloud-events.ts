import { amountTextOf, findAmountFault } from '../../../shared/amount/amount.ts'
import { findInexactNumbers } from '../../../shared/amount/exact-number.ts'
import type { Properties } from '../../../shared/domain/properties.ts'
import { currencyOfType, type UsageSource } from '../../../shared/domain/usage-source.ts'
import { HttpError } from '../../../shared/http/http-error.ts'
import type { CountingMetric } from '../../../shared/postgres/references.ts'
import { type Fault, impossible, throwFaults } from '../faults.ts'
import { type EventForm, lostDigits, NAMED_MAX, type ReportedEvent } from '../reported-event.ts'
import { checkCloudEvent, type CheckedCloudEvent } from './cloud-event.ts'
import type { FindNamed } from './named-references.ts'

/** The maximum number of CloudEvents in a request, and of the usage events that they become. */
const CLOUD_EVENTS_MAX = 1_000
const USAGE_EVENTS_MAX = 4_000

/** The CloudEvents of a request. */
export interface CloudEventList {
  events: readonly CheckedCloudEvent[]
  /** The prefix of a CloudEvent in faults: `events[3].`, or nothing when the body is one CloudEvent. */
  label: (index: number) => string
  /** Whether the body is a list. */
  isBatch: boolean
}

/** The usage events of a request, ready for reportUsage. */
export interface UsageOfCloudEvents {
  events: ReportedEvent[]
  form: EventForm
  label: (index: number) => string
}

const NAMES: EventForm['names'] = {
  accountId: 'subject',
  metricId: 'type',
  occurredAt: 'time',
  properties: 'data',
  key: 'id',
}

/**
 * Checks the CloudEvents of a body: all that can be checked without the database.
 *
 * @param body a parsed JSON value: one CloudEvent, or a list of them
 * @throws DomainError that names the first faulty ones; HttpError 413 when there are too many
 */
export function checkCloudEvents(body: unknown): CloudEventList {
  const isBatch = Array.isArray(body)
  const given: readonly unknown[] = isBatch ? body : [body]
  if (given.length > CLOUD_EVENTS_MAX)
    throw new HttpError(
      413,
      `a request has at most ${CLOUD_EVENTS_MAX} CloudEvents, this one has ${given.length}`,
    )
  const label = isBatch ? (index: number) => `events[${index}].` : () => ''
  const faults = new Map<number, Fault>()
  const events: CheckedCloudEvent[] = []
  for (const [index, one] of given.entries()) {
    const event = checkCloudEvent(one)
    if ('code' in event) faults.set(index, event)
    else events.push(event)
  }
  throwFaults(faults, label)
  return { events, label, isBatch }
}

/**
 * Makes the usage events of CloudEvents: one for each metric that has the type, or one in the currency.
 *
 * @param body the bytes of the whole request, as they were parsed
 * @throws DomainError unprocessable when a subject or type means nothing, or a quantity is no amount; malformed when a
 *   number has lost digits; HttpError 413 when there are too many usage events
 */
export async function usageOfCloudEvents(
  list: CloudEventList,
  namespaceId: string,
  findNamed: FindNamed,
  body: Buffer,
): Promise<UsageOfCloudEvents> {
  const named = await findNamed(
    namespaceId,
    new Set(list.events.map(({ subject }) => subject)),
    new Set(list.events.map(({ type }) => type).filter((type) => currencyOfType(type) === undefined)),
  )
  const faults = new Map<number, Fault>()
  const events: ReportedEvent[] = []
  /** The index of the CloudEvent of each usage event. */
  const origins: number[] = []
  for (const [index, event] of list.events.entries()) {
    const accountId = named.accountIds.get(event.subject)
    const counted = countedBy(event, named.metrics.get(event.type))
    if (accountId === undefined) faults.set(index, impossible('subject: there is no such account'))
    else if (counted.length === 0) faults.set(index, impossible('type: no metric has this event_type'))
    else
      for (const { source, quantityField } of counted) {
        const quantity = quantityOf(event.data, quantityField, source)
        if (typeof quantity !== 'string') faults.set(index, quantity)
        else {
          events.push(reportedEvent(event, accountId, source, quantity))
          origins.push(index)
        }
      }
    // The rest is not needed to know that there are too many.
    if (events.length > USAGE_EVENTS_MAX) throw tooMany()
  }
  // A quantity that is no amount may be a number that lost digits, which is the more helpful fault.
  if (faults.size > 0) throwFaults(findLostDigits(list, body), list.label)
  throwFaults(faults, list.label)
  return { events, form: formOf(list, origins), label: (index) => list.label(origins[index] ?? 0) }
}

const tooMany = () =>
  new HttpError(413, `the CloudEvents become more than ${USAGE_EVENTS_MAX} usage events: send fewer at once`)

interface Counted {
  source: UsageSource
  /** The field of the data with the quantity. Null if the event counts as 1. */
  quantityField: string | null
}

function countedBy({ type }: CheckedCloudEvent, metrics: readonly CountingMetric[] = []): Counted[] {
  const currency = currencyOfType(type)
  if (currency !== undefined) return [{ source: currency, quantityField: 'quantity' }]
  return metrics.map(({ id, eventQuantity }) => ({ source: id, quantityField: eventQuantity }))
}

function quantityOf(data: Properties, field: string | null, source: UsageSource): string | Fault {
  if (field === null) return '1'
  const value = Object.hasOwn(data, field) ? data[field] : undefined
  if (value === undefined || value === null)
    return impossible(`data.${field}: is required, because it is the quantity of ${source}`)
  if (typeof value !== 'string' && typeof value !== 'number')
    return impossible(`data.${field}: must be text or a number, because it is the quantity of ${source}`)
  const text = typeof value === 'string' ? value : amountTextOf(value)
  const fault = findAmountFault(text)
  return fault === undefined ? text : impossible(`data.${field}: ${fault}`)
}

function reportedEvent(
  { occurredAt, data, type }: CheckedCloudEvent,
  accountId: string,
  source: UsageSource,
  quantity: string,
): ReportedEvent {
  const named = currencyOfType(type) === undefined ? { metric_id: source } : { currency: source }
  return { account_id: accountId, ...named, quantity, occurred_at: occurredAt, properties: data }
}

/** @param origins the index of the CloudEvent of each usage event */
function formOf(list: CloudEventList, origins: readonly number[]): EventForm {
  return {
    names: NAMES,
    keyOf: (_event, index) => list.events[origins[index] ?? 0]?.key,
    findLostDigits(body) {
      const faults = findLostDigits(list, body)
      return new Map([...faults].map(([origin, fault]) => [origins.indexOf(origin), fault]))
    },
  }
}

/** @returns faults by the index of the CloudEvent */
function findLostDigits({ events, isBatch }: CloudEventList, body: Buffer): Map<number, Fault> {
  const faults = new Map<number, Fault>()
  for (const { text, element } of findInexactNumbers(body.toString(), 'document')) {
    if (faults.size > NAMED_MAX) break
    const index = isBatch ? element : 0
    // A number outside of the data, in an attribute that is not used, may lose digits.
    if (holdsNumber(events[index]?.data, Number(text))) faults.set(index, lostDigits('data', { text }))
  }
  return faults
}

function holdsNumber(value: unknown, number: number): boolean {
  if (typeof value !== 'object' || value === null) return value === number
  return Object.values(value).some((inner) => holdsNumber(inner, number))
}
