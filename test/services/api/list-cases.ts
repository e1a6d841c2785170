import type { ApiClient } from '../../support/api-client.ts'

/** A list of the API: functions that make its items, their cursor, and their order. */
export interface ListCase {
  /** The target without limit and starting_after. */
  target: string
  table: string
  /** The position of new items in the list. */
  grows: 'at the end' | 'at the start' | 'anywhere'
  make: (api: ApiClient, n: number) => Promise<Item>
  /** The value of starting_after for an item. */
  cursorOf: (item: Item) => string
}

export type Item = Record<string, unknown>

const idOf = (item: Item): string => String(item['id'])

const makeAccount = async (api: ApiClient, n: number): Promise<Item> => {
  // Many accounts and customers share few names, so that ids decide.
  const customer = await api.create<Item>('/v2/customers', { name: `Customer ${n % 2}` })
  const owner = n % 3 === 0 ? {} : { service_customer_id: customer['id'] }
  return api.create<Item>('/v2/accounts', { name: `Account ${n % 2}`, ...owner })
}

const makePair = async (api: ApiClient): Promise<Item> => ({
  account_id: (await api.create<Item>('/v2/accounts', { name: 'x' }))['id'],
  metric_id: (await api.create<Item>('/v2/metrics', { name: 'x' }))['id'],
})

const makeContract = async (api: ApiClient): Promise<Item> => {
  const { id: account_id } = await api.create<Item>('/v2/accounts', { name: 'x' })
  return api.create('/v2/contracts', { account_id, currency: 'usd', cadence: 'month' })
}

/** The lists that have a parameter `order`. */
const ORDERED = ['/v2/customers', '/v2/grants', '/v2/contracts']

const LISTS: readonly ListCase[] = [
  {
    target: '/v2/customers',
    table: 'customers',
    grows: 'at the end',
    make: (api, n) => api.create('/v2/customers', { name: `Customer ${n}` }),
    cursorOf: idOf,
  },
  { target: '/v2/accounts', table: 'accounts', grows: 'at the start', make: makeAccount, cursorOf: idOf },
  {
    target: '/v2/accounts?sort=customer_name',
    table: 'accounts',
    grows: 'anywhere',
    make: makeAccount,
    cursorOf: idOf,
  },
  {
    target: '/v2/metrics',
    table: 'metrics',
    grows: 'at the end',
    make: (api, n) => api.create('/v2/metrics', { name: `Metric ${n}` }),
    cursorOf: idOf,
  },
  {
    target: '/v2/grants',
    table: 'grants',
    grows: 'at the end',
    make: async (api, n) => {
      const { account_id, metric_id } = await makePair(api)
      const source = n % 2 === 0 ? { currency: 'usd' } : { metric_id }
      return api.create('/v2/grants', { account_id, ...source, amount: String(n), effective_at: n })
    },
    cursorOf: idOf,
  },
  {
    target: '/v2/refill-configurations',
    table: 'refill_configurations',
    grows: 'at the end',
    make: async (api) =>
      api.create('/v2/refill-configurations', {
        ...(await makePair(api)),
        minimum_balance: '1',
        target_balance: '2',
      }),
    cursorOf: (item) => `${String(item['account_id'])}/${String(item['metric_id'])}`,
  },
  {
    target: '/v2/products',
    table: 'products',
    grows: 'at the end',
    make: (api, n) => api.create('/v2/products', { name: `Product ${n}` }),
    cursorOf: idOf,
  },
  {
    target: '/v2/prices',
    table: 'prices',
    grows: 'at the end',
    make: async (api, n) => {
      const { id: product_id } = await api.create<Item>('/v2/products', { name: 'x' })
      return api.create('/v2/prices', { product_id, currency: 'usd', model: 'flat', amount: String(n) })
    },
    cursorOf: idOf,
  },
  {
    target: '/v2/rate-cards',
    table: 'rate_cards',
    grows: 'at the end',
    make: (api, n) => api.create('/v2/rate-cards', { name: `Card ${n}`, currency: 'usd' }),
    cursorOf: idOf,
  },
  { target: '/v2/contracts', table: 'contracts', grows: 'at the end', make: makeContract, cursorOf: idOf },
]

/** Every list of resources in openapi.yaml, in each of its orders. */
export const LIST_CASES: readonly ListCase[] = [
  ...LISTS,
  ...LISTS.filter(({ target }) => ORDERED.includes(target)).map((list): ListCase => ({
    ...list,
    target: `${list.target}?order=newest`,
    grows: 'at the start',
  })),
]
