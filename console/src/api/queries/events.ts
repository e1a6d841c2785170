import type { Client } from '../client.ts'
import type { Schema } from '../contract.ts'
import { AWAIT_MS, type Reading, reading } from './reading.ts'

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
