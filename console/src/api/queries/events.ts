import type { Client } from '../client.ts'
import type { Schema } from '../contract.ts'
import { AWAIT_MS, type Reading, reading } from './reading.ts'

/** The newest event of an account and metric that the list has, asked for every second. */
export const latestEventReading = (
  client: Client,
  query: { account_id: string; metric_id: string },
): Reading<Schema<'UsageEventPage'>> =>
  reading(client, '/v2/events', {}, { ...query, order: 'newest', limit: 1 }, { staleMs: 0, pollMs: AWAIT_MS })
