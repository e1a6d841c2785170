import type { Client } from '../client.ts'
import type { ReadPath, ReadQuery, Schema } from '../contract.ts'
import { BALANCE_CHANGES } from './balances.ts'
import { AWAIT_MS, byId, FRESH_MS, type Listing, listing, POLL_MS, type Reading, reading } from './reading.ts'

/** What changes with a correction of an event. */
export const EVENT_CHANGES = [
  '/v2/events',
  '/v2/events/{event_id}',
  '/v2/events/{event_id}/revisions',
  '/v2/usage',
  '/v2/accounts/{account_id}/usage',
  '/v2/accounts/{account_id}/usage/daily',
  '/v2/metrics/usage/monthly',
  ...BALANCE_CHANGES,
] as const satisfies readonly ReadPath[]

/** Which events are meant. */
export type EventFilter = Pick<
  ReadQuery<'/v2/events'>,
  'account_id' | 'metric_id' | 'currency' | 'start_at' | 'end_at' | 'property' | 'value'
>

/** Events by the time at which they occurred, the newest first. */
export const eventListing = (client: Client, filter: EventFilter): Listing<Schema<'UsageEvent'>> =>
  listing(client, '/v2/events', {}, { ...filter, sort: 'occurred_at', order: 'newest' }, byId, {
    staleMs: FRESH_MS,
    pollMs: POLL_MS,
  })

/** The newest events that were accepted, for what they are made of. */
export const acceptedEventsReading = (
  client: Client,
  query: Pick<ReadQuery<'/v2/events'>, 'account_id' | 'metric_id' | 'currency'>,
): Reading<Schema<'UsageEventPage'>> =>
  reading(client, '/v2/events', {}, { ...query, order: 'newest' }, { staleMs: FRESH_MS })

/** The newest event by the time at which it occurred. */
export const newestEventReading = (client: Client, filter: EventFilter): Reading<Schema<'UsageEventPage'>> =>
  reading(
    client,
    '/v2/events',
    {},
    { ...filter, sort: 'occurred_at', order: 'newest', limit: 1 },
    { staleMs: FRESH_MS },
  )

export const eventReading = (client: Client, id: string): Reading<Schema<'UsageEvent'>> =>
  reading(client, '/v2/events/{event_id}', { event_id: id }, {}, { staleMs: FRESH_MS })

export const revisionListing = (client: Client, id: string): Listing<Schema<'EventRevision'>> =>
  listing(
    client,
    '/v2/events/{event_id}/revisions',
    { event_id: id },
    {},
    ({ revision }) => revision.toString(),
    { staleMs: FRESH_MS },
  )

/** How often the page asks whether a correction counts. */
export const COUNTED_MS = 500

const PREFIX = 'event_'
const ID_DIGITS = 32

/** The id just before another one. A list that starts after it begins with that event. */
const idBefore = (id: string): string =>
  PREFIX + (BigInt(`0x${id.slice(PREFIX.length)}`) - 1n).toString(16).padStart(ID_DIGITS, '0')

/** An event as usage has it, asked for again and again. `GET /v2/events/{event_id}` has corrections before usage does. */
export const storedEventReading = (
  client: Client,
  { id, account_id, metric_id, currency, occurred_at }: Schema<'UsageEvent'>,
): Reading<Schema<'UsageEventPage'>> =>
  reading(
    client,
    '/v2/events',
    {},
    {
      account_id,
      ...(metric_id === null ? { currency: currency ?? '' } : { metric_id }),
      sort: 'occurred_at',
      start_at: occurred_at,
      end_at: occurred_at + 1,
      starting_after: idBefore(id),
      limit: 1,
    },
    { staleMs: 0, pollMs: COUNTED_MS },
  )

/** The events of an account and metric that occurred in one second, asked for every second. */
export const eventsOfSecondReading = (
  client: Client,
  query: { account_id: string; metric_id: string },
  at: number,
): Reading<Schema<'UsageEventPage'>> =>
  reading(
    client,
    '/v2/events',
    {},
    { ...query, sort: 'occurred_at', start_at: at, end_at: at + 1, limit: 1 },
    { staleMs: 0, pollMs: AWAIT_MS },
  )

/** The newest events that the list has. @param pollMs how often it is asked again; undefined asks once */
export const newestEventsReading = (
  client: Client,
  query: Pick<ReadQuery<'/v2/events'>, 'metric_id' | 'currency' | 'limit'>,
  pollMs?: number,
): Reading<Schema<'UsageEventPage'>> =>
  reading(
    client,
    '/v2/events',
    {},
    { ...query, order: 'newest' },
    { staleMs: FRESH_MS, ...(pollMs === undefined ? {} : { pollMs }) },
  )
