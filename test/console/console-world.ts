import { ApiClient } from '../support/api-client.ts'
import type { TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { accountData } from './account-data.ts'
import { HOSTILE } from './hostile-texts.ts'
import { makeSupportWorld, type SupportWorld } from './worlds/account.ts'
import { makeKeys } from './worlds/company.ts'
import { type ContractWorld, makeContractWorld } from './worlds/contracts.ts'
import { type ExploreWorld, makeExploreWorld } from './worlds/explore.ts'
import { makePricesWorld, type PricesWorld } from './worlds/prices.ts'

/** What every company of the console's tests has: usage of many days, grants of all kinds, refills, an archived account. */
interface BaseWorld {
  account: string
  metric: string
  /** An account without anything. */
  bare: string
  /** The second in which the account's newest event of the metric occurred. */
  eventAt: number
}

/** The data of all pages. */
export interface ConsoleWorld extends BaseWorld, ContractWorld {
  explore: ExploreWorld
  support: SupportWorld
  prices: PricesWorld
}

type Company = Pick<TallyUnderTest, 'url' | 'testKey'>

const DAY_S = 86_400

const apiOf = ({ url, testKey }: Company): ApiClient => new ApiClient(url, testKey)

/** Makes the data of all pages. */
export async function makeConsoleWorld(company: Company): Promise<ConsoleWorld> {
  const api = apiOf(company)
  const base = await makeBaseWorld(company)
  const [contracts, support, prices] = await Promise.all([
    makeContractWorld(api, base.metric, HOSTILE),
    makeSupportWorld(api, base.metric, HOSTILE.markup),
    makePricesWorld(api),
    makeKeys(api, base.account),
  ])
  const explore = await makeExploreWorld(api) // the last, so that its events are the newest
  return { ...base, ...contracts, support, prices, explore }
}

/** Makes the data of support, with which more data are made. */
export async function makeSupportedWorld(company: Company) {
  const api = apiOf(company)
  const base = await makeBaseWorld(company)
  const support = await makeSupportWorld(api, base.metric, HOSTILE.markup)
  return { ...base, support, data: accountData({ api, metric: base.metric }) }
}

/** Makes the data of contracts and invoices. */
export async function makeAgreedWorld(company: Company): Promise<BaseWorld & ContractWorld> {
  const base = await makeBaseWorld(company)
  return { ...base, ...(await makeContractWorld(apiOf(company), base.metric, HOSTILE)) }
}

/** Makes the data of usage, metrics and customers. */
export async function makeExploredWorld(company: Company) {
  const base = await makeBaseWorld(company)
  return { ...base, explore: await makeExploreWorld(apiOf(company)) }
}

/** Makes the data of prices. */
export const makePricedWorld = async (company: Company) => ({ prices: await makePricesWorld(apiOf(company)) })

/** Makes an account with everything, one with nothing, and some that are named by others. */
export async function makeBaseWorld(company: Company): Promise<BaseWorld> {
  const api = apiOf(company)
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
  return { account: account.id, metric: metric.id, bare: bare.id, eventAt }
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
