import type { Client } from '../client.ts'
import type { ReadPath, ReadQuery, Schema } from '../contract.ts'
import { AWAIT_MS, FRESH_MS, POLL_MS, type Reading, reading } from './reading.ts'

/** What changes with a grant. A balance that changes may be refilled, and credit pays invoices. */
export const BALANCE_CHANGES = [
  '/v2/grants',
  '/v2/refill-configurations/{account_id}/{metric_id}/refills',
  '/v2/accounts/balances',
  '/v2/accounts/{account_id}/balance',
  '/v2/accounts/{account_id}/balance/daily',
  '/v2/invoice-previews',
] as const satisfies readonly ReadPath[]

/** The balances of up to 100 accounts. */
export const balancesReading = (
  client: Client,
  accountIds: readonly string[],
  pollMs?: number,
): Reading<Schema<'Balances'>> =>
  reading(
    client,
    '/v2/accounts/balances',
    {},
    { account_ids: accountIds },
    {
      staleMs: FRESH_MS,
      ...(pollMs === undefined ? {} : { pollMs }),
    },
  )

/** The balance of an account in a metric or currency, asked for every second. */
export const awaitedBalanceReading = (
  client: Client,
  { account_id, ...source }: { account_id: string; metric_id?: string; currency?: string },
): Reading<Schema<'Balance'>> =>
  reading(client, '/v2/accounts/{account_id}/balance', { account_id }, source, {
    staleMs: 0,
    pollMs: AWAIT_MS,
  })

/** A balance, with the time in milliseconds at which it was asked for. It has all that counted by then. */
export interface AskedBalance {
  askedAt: number
  balance: Schema<'Balance'>
}

/** The balance of an account, asked for again and again, with the time of each question. */
export function askedBalanceReading(
  client: Client,
  of: { account_id: string; metric_id?: string; currency?: string },
  pollMs: number,
): Reading<AskedBalance> {
  const { key, fetch, ...rest } = awaitedBalanceReading(client, of)
  return {
    ...rest,
    pollMs,
    key: [...key, 'asked'],
    fetch: async (signal) => {
      const askedAt = Date.now()
      return { askedAt, balance: await fetch(signal) }
    },
  }
}

/** The balances of one account, asked for again and again. */
export const accountBalancesReading = (client: Client, id: string): Reading<Schema<'Balances'>> =>
  balancesReading(client, [id], POLL_MS)

export const dailyBalanceReading = (
  client: Client,
  id: string,
  query: ReadQuery<'/v2/accounts/{account_id}/balance/daily'>,
): Reading<Schema<'DailyBalances'>> =>
  reading(client, '/v2/accounts/{account_id}/balance/daily', { account_id: id }, query, { staleMs: FRESH_MS })
