import type { OperationFacts } from './operation-facts.ts'

interface Event {
  occurred_at?: number | null
  idempotency_key?: string | null
}

/**
 * Fills in the time and the key of each reported event. A repeat without them would be another event. This happens once
 * a call, before the first attempt.
 *
 * @param body bytes are sent as they are: their events must have times and keys already
 * @param requestKey the Idempotency-Key of the caller. It identifies events that have no key of their own, also in
 *   another process that repeats the call, so nothing is filled in
 */
export function withIdentities(
  { id }: OperationFacts,
  body: unknown,
  requestKey: string | undefined,
  now: number,
): unknown {
  if (requestKey !== undefined || body instanceof Uint8Array) return body
  const identified = (event: Event): Event => ({
    ...event,
    occurred_at: event.occurred_at ?? Math.floor(now / 1_000),
    idempotency_key: event.idempotency_key ?? crypto.randomUUID(),
  })
  if (id === 'reportEvent') return identified(body as Event)
  if (id !== 'reportEvents') return body
  const { events, ...others } = body as { events?: unknown }
  return { ...others, events: Array.isArray(events) ? (events as Event[]).map(identified) : events }
}

/**
 * Says what is wrong with the answer of a report or correction, if it does not count the events that were sent. Then it
 * is not Tally's, whatever its status is.
 *
 * @param sent the body of the request
 * @returns undefined when nothing is wrong
 */
export function miscounted({ id }: OperationFacts, sent: unknown, answer: object): string | undefined {
  const [list, count] = COUNTS[id] ?? []
  if (list === undefined || count === undefined || typeof sent !== 'object' || sent === null) return undefined
  const items = (sent as Readonly<Record<string, unknown>>)[list]
  const counted = (answer as Readonly<Record<string, unknown>>)[count]
  if (!Array.isArray(items) || counted === items.length) return undefined
  return `${count} is ${JSON.stringify(counted)}, not ${items.length}`
}

/** For each operation: the list that it takes, and the field of its answer that counts the list. */
const COUNTS: Readonly<Record<string, readonly [list: string, count: string]>> = {
  reportEvents: ['events', 'accepted'],
  correctEvents: ['corrections', 'corrected'],
}
