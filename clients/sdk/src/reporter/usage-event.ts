import { randomUUID } from 'node:crypto'
import { InvalidEventError } from './errors.ts'

/** An id, or your own id. */
type Reference = string | { externalId: string }

/** Usage that is reported. It has either a metric or a currency. */
export interface UsageEvent {
  /** `account_…`, or your own id of the account. */
  account: Reference
  /** `metric_…`, or your own id of the metric. */
  metric?: Reference | undefined
  /** Three letters, for usage that is money. */
  currency?: string | undefined
  /** Decimal text, or an integer that a double holds exactly. */
  quantity: string | bigint | number
  /** Unix seconds; default: now. */
  occurredAt?: number | Date | undefined
  /** Your own key of this event; default: a random one. */
  key?: string | undefined
  properties?: Readonly<Record<string, unknown>> | undefined
}

/** An event as JSON. */
export interface EncodedEvent {
  json: string
  bytes: number
  /** The names that must be looked up before it can be sent: `account:acme`. */
  needs: readonly string[]
}

const EXTERNAL_ID_MAX = 256
const KEY_MAX = 256
const PROPERTIES_BYTES_MAX = 16 * 1_024
const SECONDS_MAX = 4_294_967_295

/**
 * Checks the form of an event and turns it into JSON. Time and key are set here and never again, because together with
 * account and metric they identify the event.
 *
 * The order of the fields is fixed, so that ids can be put in place of external ids without parsing the rest.
 *
 * @param now milliseconds since 1970
 * @throws InvalidEventError
 */
export function encodeEvent(event: UsageEvent, now: number): EncodedEvent {
  const needs: string[] = []
  const account = encodeReference('account', event.account, needs)
  const source = encodeSource(event, needs)
  const quantity = quantityText(event.quantity)
  const occurredAt = event.occurredAt === undefined ? Math.floor(now / 1_000) : secondsOf(event.occurredAt)
  const key = event.key === undefined ? `"${randomUUID()}"` : JSON.stringify(checkKey(event.key))
  const properties = encodeProperties(event.properties)
  const json = `{${account},${source},"quantity":"${quantity}","occurred_at":${occurredAt},"idempotency_key":${key}${properties}}`
  return { json, bytes: Buffer.byteLength(json), needs }
}

const fault = (message: string): InvalidEventError => new InvalidEventError(message)

const ID = { account: /^account_[0-9a-f]{32}$/, metric: /^metric_[0-9a-f]{32}$/ }

function encodeReference(kind: 'account' | 'metric', reference: unknown, needs: string[]): string {
  if (typeof reference === 'string') {
    if (!ID[kind].test(reference))
      throw fault(`${kind}: must be an id such as ${kind}_0f8f…, or { externalId }`)
    return `"${kind}_id":"${reference}"`
  }
  const externalId = typeof reference === 'object' && reference !== null && 'externalId' in reference
  const text = externalId ? reference.externalId : undefined
  if (typeof text !== 'string' || text === '' || text.length > EXTERNAL_ID_MAX || !isStorable(text))
    throw fault(`${kind}: must be an id, or { externalId } with 1 to ${EXTERNAL_ID_MAX} characters`)
  needs.push(`${kind}:${text}`)
  return `"${kind}_external_id":${JSON.stringify(text)}`
}

function encodeSource({ metric, currency }: UsageEvent, needs: string[]): string {
  if ((metric === undefined) === (currency === undefined))
    throw fault('metric, currency: exactly one of them is required')
  if (metric !== undefined) return encodeReference('metric', metric, needs)
  if (typeof currency !== 'string' || !/^[A-Za-z]{3}$/.test(currency))
    throw fault('currency: must be three letters')
  return `"currency":"${currency}"`
}

function quantityText(quantity: unknown): string {
  if (typeof quantity === 'number' && !Number.isSafeInteger(quantity))
    throw fault('quantity: a number must be an integer that a double holds exactly; use text')
  const isKnown = typeof quantity === 'string' || typeof quantity === 'number' || typeof quantity === 'bigint'
  const text = isKnown ? String(quantity) : ''
  if (!/^-?\d{1,20}(\.\d{1,18})?$/.test(text))
    throw fault('quantity: must be decimal text, at most 20 digits before and 18 after the point')
  return text
}

function secondsOf(time: unknown): number {
  const seconds = time instanceof Date ? Math.floor(time.getTime() / 1_000) : time
  if (!Number.isInteger(seconds) || Number(seconds) < 0 || Number(seconds) > SECONDS_MAX)
    throw fault('occurredAt: must be Unix seconds as an integer, or a Date')
  return Number(seconds)
}

function checkKey(key: unknown): string {
  if (typeof key !== 'string' || key === '' || key.length > KEY_MAX || !isStorable(key))
    throw fault(`key: must be text of 1 to ${KEY_MAX} characters`)
  return key
}

/** Whether text can be stored: Tally refuses a NUL character, and half of a surrogate pair. */
const isStorable = (text: string): boolean => !text.includes('\0') && !/\p{Surrogate}/u.test(text)

function encodeProperties(properties: unknown): string {
  if (properties === undefined) return ''
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties))
    throw fault('properties: must be an object')
  let json: string | undefined
  try {
    json = JSON.stringify(properties)
  } catch (err) {
    throw new InvalidEventError('properties: cannot be written as JSON', { cause: err })
  }
  // A character has at most three bytes here, so that most texts need not be counted.
  const isLarge = json.length > PROPERTIES_BYTES_MAX / 3 && Buffer.byteLength(json) > PROPERTIES_BYTES_MAX
  if (!json.startsWith('{') || isLarge)
    throw fault(`properties: must be an object of at most ${PROPERTIES_BYTES_MAX} bytes as JSON`)
  return `,"properties":${json}`
}

const TEXT = '"(?:[^"\\\\]|\\\\.)*"'
const HEAD = new RegExp(
  `^\\{"account_(external_id|id)":(${TEXT}),"(metric_external_id|metric_id|currency)":(${TEXT})`,
)

/** Reads from the JSON of an event which names must be looked up. */
export function needsOf(json: string): string[] {
  if (!json.includes('_external_id":')) return []
  const [, accountForm, account = '', source, sourceText = ''] = HEAD.exec(json) ?? []
  return [
    ...(accountForm === 'external_id' ? [`account:${JSON.parse(account) as string}`] : []),
    ...(source === 'metric_external_id' ? [`metric:${JSON.parse(sourceText) as string}`] : []),
  ]
}

/** Puts ids in place of the external ids of an event. */
export function withIds(json: string, ids: Readonly<Record<string, string>> | undefined): string {
  if (ids === undefined) return json
  return json.replace(HEAD, (_, accountForm: string, account: string, source: string, sourceText: string) => {
    const accountId = accountForm === 'id' ? account : idOf('account', account, ids)
    const head = `{"account_id":${accountId}`
    return source === 'metric_external_id'
      ? `${head},"metric_id":${idOf('metric', sourceText, ids)}`
      : `${head},"${source}":${sourceText}`
  })
}

function idOf(kind: string, text: string, ids: Readonly<Record<string, string>>): string {
  return JSON.stringify(ids[`${kind}:${JSON.parse(text) as string}`])
}

/** The time of an event in its JSON, in Unix seconds. */
export function occurredAtOf(json: string): number | undefined {
  const { occurred_at: at } = JSON.parse(json) as { occurred_at?: unknown }
  return typeof at === 'number' ? at : undefined
}
