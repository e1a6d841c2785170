import type { Client } from '../client.ts'
import type { ReadQuery, Schema } from '../contract.ts'
import { FRESH_MS, type Reading, reading } from './reading.ts'

export const dailyUsageReading = (
  client: Client,
  id: string,
  query: ReadQuery<'/v2/accounts/{account_id}/usage/daily'>,
): Reading<Schema<'PeriodUsage'>> =>
  reading(client, '/v2/accounts/{account_id}/usage/daily', { account_id: id }, query, { staleMs: FRESH_MS })
