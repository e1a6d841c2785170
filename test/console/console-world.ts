import type { Browser } from 'playwright-core'
import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { HOSTILE } from './hostile-texts.ts'
import { useBrowser } from './use-browser.ts'
import { makeSupportWorld, type SupportWorld } from './worlds/account.ts'
import { makeKeys } from './worlds/company.ts'
import { type ContractWorld, makeContractWorld } from './worlds/contracts.ts'
import { type ExploreWorld, makeExploreWorld } from './worlds/explore.ts'
import { makePricesWorld, type PricesWorld } from './worlds/prices.ts'

export interface ConsoleWorld extends ContractWorld {
  api: ApiClient
  account: string
  metric: string
  /** An account without anything. */
  bare: string
  /** The second in which the account's newest event of the metric occurred. */
  eventAt: number
  explore: ExploreWorld
  support: SupportWorld
  prices: PricesWorld
}

const DAY_S = 86_400

/** A browser, a Tally, and data of its test company. The suite is pending without a browser; see useBrowser. */
export async function shareConsole(
  suite: Mocha.Context,
): Promise<{ tally: TallyUnderTest; browser: Browser; world: ConsoleWorld }> {
  const browser = await useBrowser(suite)
  const tally = await shareTallyUnderTest()
  return { tally, browser, world: await makeConsoleWorld(tally.url, tally.testKey) }
}

/** Makes a company's data as the pages show them: usage of many days, grants of all kinds, refills, an archived account. */
async function makeConsoleWorld(url: string, key: string): Promise<ConsoleWorld> {
  const api = new ApiClient(url, key)
  const customer = await api.create<{ id: string }>('/v2/customers', { name: 'Acme Ltd' })
  const metric = await api.create<{ id: string }>('/v2/metrics', {
    name: 'Tokens',
    measurement_units: 'tokens',
  })
  await api.create('/v2/metrics', { name: 'Seats', measurement_units: 'seats' })
  const account = await api.create<{ id: string }>('/v2/accounts', {
    name: 'Acme production',
    external_id: 'acme-prod',
    service_customer_id: customer.id,
    description: 'The account of their web shop.',
  })
  const bare = await api.create<{ id: string }>('/v2/accounts', { name: 'Bare' })
  await makeMoreAccounts(api, customer.id)
  await grantAll(api, account.id, metric.id)
  const eventAt = await reportAll(api, account.id, metric.id)
  await makeKeys(api)
  const contracts = await makeContractWorld(api, metric.id, HOSTILE)
  const support = await makeSupportWorld(api, metric.id, HOSTILE.markup)
  const prices = await makePricesWorld(api)
  const explore = await makeExploreWorld(api) // the last, so that its events are the newest
  return {
    ...{ api, account: account.id, metric: metric.id, bare: bare.id, eventAt, explore, support },
    ...contracts,
    prices,
  }
}

async function makeMoreAccounts(api: ApiClient, customer: string): Promise<void> {
  for (const name of Object.values(HOSTILE))
    await api.create('/v2/accounts', { name, service_customer_id: customer })
  const { id } = await api.create<{ id: string }>('/v2/accounts', { name: 'Gone' })
  await api.create(`/v2/accounts/${id}/archive`, {})
}

async function grantAll(api: ApiClient, account: string, metric: string): Promise<void> {
  const now = Math.floor(Date.now() / 1_000)
  const grant = (fields: object) =>
    api.create<{ id: string }>('/v2/grants', {
      account_id: account,
      metric_id: metric,
      effective_at: now - 40 * DAY_S,
      ...fields,
    })
  await grant({ amount: '3000000', description: 'The yearly credit' })
  await grant({ amount: '50000', effective_at: now + 30 * DAY_S, description: 'For next month' })
  await grant({ amount: '10.5', expires_at: now - 20 * DAY_S })
  const { id } = await grant({ amount: '77' })
  await api.create(`/v2/grants/${id}/void`, {})
  await grant({ metric_id: null, currency: 'usd', amount: '50' })
  await api.create('/v2/refill-configurations', {
    account_id: account,
    metric_id: metric,
    minimum_balance: '1000000',
    target_balance: '2500000',
  })
}

/** Usage of 30 days, and today. @returns the second of the newest event of the metric */
async function reportAll(api: ApiClient, account: string, metric: string): Promise<number> {
  const now = Math.floor(Date.now() / 1_000)
  const events = Array.from({ length: 30 }, (_, day) => ({
    account_id: account,
    metric_id: metric,
    quantity: `${40_000 + ((day * 7_919) % 31) * 1_500}.25`,
    occurred_at: now - day * DAY_S,
    idempotency_key: `day-${day}`,
  }))
  const money = {
    account_id: account,
    currency: 'usd',
    quantity: '62.25',
    occurred_at: now - 60,
    idempotency_key: 'm',
  }
  await api.create('/v2/events/batch', { events: [...events, money] })
  await until(async () => {
    const { body } = await api.get<{ events_consumed: { quantity: string }[] }>(
      `/v2/accounts/${account}/usage?start_at=0&end_at=4294967295&aggregation=count`,
    )
    return body.events_consumed.some(({ quantity }) => quantity === '30') && body.events_consumed.length === 2
  })
  return now
}
