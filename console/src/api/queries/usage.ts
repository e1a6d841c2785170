import type { Client } from '../client.ts'
import type { ReadQuery, Schema } from '../contract.ts'
import { FRESH_MS, type Reading, reading, RESOURCE_MS } from './reading.ts'

export const dailyUsageReading = (
  client: Client,
  id: string,
  query: ReadQuery<'/v2/accounts/{account_id}/usage/daily'>,
): Reading<Schema<'PeriodUsage'>> =>
  reading(client, '/v2/accounts/{account_id}/usage/daily', { account_id: id }, query, { staleMs: FRESH_MS })

/** Usage of one source, of all accounts or of one, by period and in groups. */
export const groupedUsageReading = (
  client: Client,
  query: ReadQuery<'/v2/usage'>,
): Reading<Schema<'GroupedUsage'>> => reading(client, '/v2/usage', {}, query, { staleMs: RESOURCE_MS })

type UsageQuestion = Omit<ReadQuery<'/v2/usage'>, 'period'>

/** An answer, with the question that it answers: a page may have another one by then. */
export interface AnsweredUsage {
  usage: Schema<'GroupedUsage'>
  asked: UsageQuestion
  period: 'day' | 'month' | undefined
}

/** Usage of one source, with its question. @param period undefined asks for no series */
export function answeredUsageReading(
  client: Client,
  asked: UsageQuestion,
  period: AnsweredUsage['period'],
): Reading<AnsweredUsage> {
  const query = period === undefined ? asked : { ...asked, period }
  const { key, fetch, ...rest } = groupedUsageReading(client, query)
  return {
    ...rest,
    key: [...key, 'answered'],
    fetch: async (signal) => ({ usage: await fetch(signal), asked, period }),
  }
}

/** The number of events of each metric and currency in a range, by month. */
export const monthlyCountReading = (
  client: Client,
  range: { start_at: number; end_at: number },
): Reading<Schema<'PeriodUsage'>> =>
  reading(
    client,
    '/v2/metrics/usage/monthly',
    {},
    { ...range, aggregation: 'count' },
    { staleMs: RESOURCE_MS },
  )

/** How many events of each source an account had before a second. Hardly any event arrives as late. */
export const usageBeforeReading = (
  client: Client,
  id: string,
  before: number,
): Reading<Schema<'AccountUsage'>> =>
  reading(
    client,
    '/v2/accounts/{account_id}/usage',
    { account_id: id },
    { start_at: 0, end_at: before, aggregation: 'count' },
    { staleMs: RESOURCE_MS },
  )
