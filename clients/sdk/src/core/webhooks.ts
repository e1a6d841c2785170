import { WebhookVerificationError } from './errors.ts'

/** Headers of a request, as servers of different kinds give them. */
export type WebhookHeaders =
  { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>

export interface UnwrapOptions {
  /** How old a webhook may be, and how far ahead its time may lie; 300 s when it is left out. */
  toleranceS?: number
}

const TOLERANCE_S = 300

/**
 * Checks that a webhook comes from Tally, by the rules of Standard Webhooks (`v1`), and returns its content.
 *
 * @param body the body as it was received. One that was parsed already cannot be checked
 * @param secret the secret of the endpoint; several while a secret is being replaced
 * @throws WebhookVerificationError
 */
export async function unwrap<Event = unknown>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceS = TOLERANCE_S }: UnwrapOptions = {},
): Promise<Event> {
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new WebhookVerificationError('body', 'the body was parsed already; give it as it was received')
  const [id, time, signatures] = ['id', 'timestamp', 'signature'].map((name) => required(headers, name))
  const content = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = joined(new TextEncoder().encode(`${id ?? ''}.${time ?? ''}.`), content)
  requireTime(time ?? '', toleranceS)
  const given = (signatures ?? '')
    .split(' ')
    .flatMap((one) => (one.startsWith('v1,') ? [bytesOf(one.slice(3))] : []))
  const secrets = (typeof secret === 'string' ? [secret] : secret).map(keyOf)
  if (!(await isSigned(signed, given, secrets)))
    throw new WebhookVerificationError(
      'signature',
      'no signature fits: the secret is another one, or the body was changed on its way, for example parsed and written again',
    )
  try {
    return JSON.parse(new TextDecoder().decode(content)) as Event
  } catch {
    throw new WebhookVerificationError('body', 'the body is not JSON')
  }
}

function required(headers: WebhookHeaders, name: string): string {
  const full = `webhook-${name}`
  const value = headerOf(headers, full)
  if (value !== undefined && value !== '') return value
  throw new WebhookVerificationError('header', `the header ${full} is missing`)
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function')
    return (headers as { get(name: string): string | null }).get(name) ?? undefined
  const found = Object.entries(
    headers as Readonly<Record<string, string | readonly string[] | undefined>>,
  ).find(([one]) => one.toLowerCase() === name)
  const value = found?.[1]
  return typeof value === 'string' || value === undefined ? value : value.join(' ')
}

function requireTime(text: string, toleranceS: number): void {
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : NaN
  const awayS = Math.abs(Date.now() / 1_000 - seconds)
  if (awayS <= toleranceS) return
  throw new WebhookVerificationError(
    'time',
    Number.isNaN(seconds)
      ? 'the header webhook-timestamp is not a time'
      : `its time is ${Math.round(awayS)} s away from now; ${toleranceS} s are allowed`,
  )
}

/** Whether one of the signatures is by one of the secrets. WebCrypto compares in constant time. */
async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  signatures: readonly (Uint8Array<ArrayBuffer> | undefined)[],
  secrets: readonly Uint8Array<ArrayBuffer>[],
): Promise<boolean> {
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ])
    for (const signature of signatures)
      if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, signed))) return true
  }
  return false
}

/** @throws TypeError when it is not a secret */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = bytesOf(secret.trim().replace(/^whsec_/, ''))
  if (bytes !== undefined && bytes.length > 0) return bytes
  throw new TypeError('the secret of a webhook is whsec_ and base64')
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}
