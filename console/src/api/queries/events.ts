import type { Client } from '../client.ts'
import type { ReadQuery, Schema } from '../contract.ts'
import { AWAIT_MS, FRESH_MS, type Reading, reading } from './reading.ts'

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
