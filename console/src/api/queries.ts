import type { ApiRequest } from '../format/curl.ts'
import type { Client } from './client.ts'
import type { ReadAnswer, ReadPath, ReadQuery, Schema } from './contract.ts'

/** A read of the API. No other file names the operations that read. */
export interface Reading<T> {
  /** The company first, so that nothing of one company is shown to another. */
  key: readonly unknown[]
  request: ApiRequest
  /** How long an answer counts as fresh. */
  staleMs: number
  /** How often it is asked again while the page is seen. */
  pollMs?: number
  fetch: (signal?: AbortSignal) => Promise<T>
}

interface Page<Row> {
  data: readonly Row[]
  has_more: boolean
}

/** A list of the API, page by page. */
export interface Listing<Row> {
  key: readonly unknown[]
  /** The request of the first page. */
  request: ApiRequest
  staleMs: number
  fetchPage: (after: string | undefined, signal?: AbortSignal) => Promise<Page<Row>>
  /** What the next page starts after. */
  idOf: (row: Row) => string
}

type ListPath = {
  [Path in ReadPath]: ReadAnswer<Path> extends { data: readonly unknown[]; has_more: boolean } ? Path : never
}[ReadPath]
type RowOf<Path extends ListPath> = ReadAnswer<Path> extends { data: readonly (infer Row)[] } ? Row : never

type PathParameters = Readonly<Record<string, string>>

const FRESH_MS = 5_000
const RESOURCE_MS = 60_000
const POLL_MS = 5_000
const AWAIT_MS = 1_000
const PAGE_ROWS = 100

function targetOf(path: string, parameters: PathParameters, query: object): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(parameters[name] ?? ''),
  )
  const words = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`)
  return words.length === 0 ? filled : `${filled}?${words.join('&')}`
}

function reading<Path extends ReadPath>(
  client: Client,
  path: Path,
  parameters: PathParameters,
  query: ReadQuery<Path> | Record<string, never>,
  times: { staleMs: number; pollMs?: number },
): Reading<ReadAnswer<Path>> {
  const request: ApiRequest = { method: 'GET', target: targetOf(path, parameters, query) }
  return {
    key: [client.caller.company.id, path, request.target],
    request,
    ...times,
    fetch: async (signal) => (await client.call(request, signal)) as ReadAnswer<Path>,
  }
}

function listing<Path extends ListPath>(
  client: Client,
  path: Path,
  parameters: PathParameters,
  query: object,
  idOf: (row: RowOf<Path>) => string,
): Listing<RowOf<Path>> {
  const requestAfter = (after: string | undefined): ApiRequest => ({
    method: 'GET',
    target: targetOf(path, parameters, { ...query, limit: PAGE_ROWS, starting_after: after }),
  })
  const request = requestAfter(undefined)
  return {
    key: [client.caller.company.id, path, request.target],
    request,
    staleMs: RESOURCE_MS,
    idOf,
    fetchPage: async (after, signal) => (await client.call(requestAfter(after), signal)) as Page<RowOf<Path>>,
  }
}

/** What changes with a grant. */
export const BALANCE_CHANGES = [
  '/v2/grants',
  '/v2/accounts/balances',
  '/v2/accounts/{account_id}/balance/daily',
] as const satisfies readonly ReadPath[]

const byId = ({ id }: { id: string }): string => id

export const callerReading = (client: Client): Reading<Schema<'Caller'>> =>
  reading(client, '/v2/caller', {}, {}, { staleMs: 0, pollMs: POLL_MS })

export const accountListing = (
  client: Client,
  query: ReadQuery<'/v2/accounts'>,
): Listing<Schema<'Account'>> => listing(client, '/v2/accounts', {}, query, byId)

export const accountReading = (client: Client, id: string): Reading<Schema<'Account'>> =>
  reading(client, '/v2/accounts/{account_id}', { account_id: id }, {}, { staleMs: RESOURCE_MS })

export const accountByExternalIdReading = (client: Client, externalId: string): Reading<Schema<'Account'>> =>
  reading(
    client,
    '/v2/accounts/external-id/{external_id}',
    { external_id: externalId },
    {},
    { staleMs: FRESH_MS },
  )

export const customerReading = (client: Client, id: string): Reading<Schema<'Customer'>> =>
  reading(client, '/v2/customers/{customer_id}', { customer_id: id }, {}, { staleMs: RESOURCE_MS })

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

/** The newest event of an account and metric that the list has, asked for every second. */
export const latestEventReading = (
  client: Client,
  query: { account_id: string; metric_id: string },
): Reading<Schema<'UsageEventPage'>> =>
  reading(client, '/v2/events', {}, { ...query, order: 'newest', limit: 1 }, { staleMs: 0, pollMs: AWAIT_MS })

/** The balance of an account in a metric, asked for every second. */
export const awaitedBalanceReading = (
  client: Client,
  { account_id, metric_id }: { account_id: string; metric_id: string },
): Reading<Schema<'Balance'>> =>
  reading(
    client,
    '/v2/accounts/{account_id}/balance',
    { account_id },
    { metric_id },
    {
      staleMs: 0,
      pollMs: AWAIT_MS,
    },
  )

/** The balances of one account, asked for again and again. */
export const accountBalancesReading = (client: Client, id: string): Reading<Schema<'Balances'>> =>
  balancesReading(client, [id], POLL_MS)

export const dailyUsageReading = (
  client: Client,
  id: string,
  query: ReadQuery<'/v2/accounts/{account_id}/usage/daily'>,
): Reading<Schema<'PeriodUsage'>> =>
  reading(client, '/v2/accounts/{account_id}/usage/daily', { account_id: id }, query, { staleMs: FRESH_MS })

export const dailyBalanceReading = (
  client: Client,
  id: string,
  query: ReadQuery<'/v2/accounts/{account_id}/balance/daily'>,
): Reading<Schema<'DailyBalances'>> =>
  reading(client, '/v2/accounts/{account_id}/balance/daily', { account_id: id }, query, { staleMs: FRESH_MS })

export const metricListing = (client: Client): Listing<Schema<'Metric'>> =>
  listing(client, '/v2/metrics', {}, {}, byId)

export const currencyListing = (client: Client): Listing<Schema<'ReportedCurrency'>> =>
  listing(client, '/v2/currencies', {}, {}, ({ currency }) => currency)

export const grantListing = (client: Client, query: ReadQuery<'/v2/grants'>): Listing<Schema<'Grant'>> =>
  listing(client, '/v2/grants', {}, { ...query, order: 'newest' }, byId)

export const refillConfigurationListing = (
  client: Client,
  query: ReadQuery<'/v2/refill-configurations'>,
): Listing<Schema<'RefillConfiguration'>> =>
  listing(
    client,
    '/v2/refill-configurations',
    {},
    query,
    ({ account_id, metric_id }) => `${account_id}/${metric_id}`,
  )

export const refillListing = (
  client: Client,
  accountId: string,
  metricId: string,
): Listing<Schema<'Refill'>> =>
  listing(
    client,
    '/v2/refill-configurations/{account_id}/{metric_id}/refills',
    { account_id: accountId, metric_id: metricId },
    { order: 'newest' },
    ({ grant_id }) => grant_id,
  )
