import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'

/** A request of an operation. */
export interface Request {
  target: string
  body?: unknown
}

/** Requests by which an operation answers each status that does not need a fault. */
export interface Tries {
  /** Whether the operation is only for test companies, and may delete the data of other tests. */
  isForTests?: true
  /** A request that succeeds, even if it is sent several times. */
  good: (world: World) => Request | Promise<Request>
  /** A request for an unknown resource, for operations that list 404. Without it, another company sends `good`. */
  missing?: (world: World) => Request
  /** A request that answers 404 only to an account key, which is one of another account than `account`. */
  missingToAccountKey?: (world: World) => Request
  conflict?: (world: World) => Request | Promise<Request>
  impossible?: (world: World) => Request | Promise<Request>
}

/** Resources of all kinds in one namespace. */
export interface World {
  api: ApiClient
  customer: string
  /** The external id of the account and of the metric. */
  externalId: string
  /** The external id of another customer. */
  takenExternalId: string
  account: string
  metric: string
  grant: string
  product: string
  price: string
  /** The external id of another product. */
  takenProductId: string
  rateCard: string
  /** The external id of another card. */
  takenCardId: string
  contract: string
  contractExternalId: string
  endedContract: string
  /** Resources for requests that change them. */
  spare: {
    contract: string
    account: string
    metric: string
    grant: string
    product: string
    price: string
    rateCard: string
    apiKey: string
  }
  eventId: string
  voidedEventId: string
  apiKey: string
}

let made = 0
const unique = (): string => `unique-${made++}`
const NO_ACCOUNT = `account_${'0'.repeat(32)}`
const NO_PRODUCT = `product_${'0'.repeat(32)}`
const NO_METRIC = `metric_${'0'.repeat(32)}`
const RANGE = 'start_at=1700000000&end_at=1700086400'

/** Returns the shared Tally, with resources of all kinds in a new company, and a client of that company. */
export async function shareRequestWorld(): Promise<{ tally: TallyUnderTest; api: ApiClient; world: World }> {
  const tally = await shareTallyUnderTest()
  const api = new ApiClient(tally.url, tally.key)
  return { tally, api, world: await makeRequestWorld(api) }
}

export async function makeRequestWorld(api: ApiClient): Promise<World> {
  const create = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
  const [externalId, takenExternalId] = [unique(), unique()]
  const customer = await create('/v2/customers', { name: 'c' })
  await create('/v2/customers', { name: 'c', external_id: takenExternalId })
  const account = await create('/v2/accounts', {
    name: 'a',
    external_id: externalId,
    service_customer_id: customer,
  })
  const metric = await create('/v2/metrics', { name: 'm', external_id: externalId })
  const credit = { amount: '10', effective_at: 0 }
  const grant = await create('/v2/grants', { account_id: account, metric_id: metric, ...credit })
  await api.create('/v2/refill-configurations', refill(account, metric))
  const takenProductId = unique()
  await create('/v2/products', { name: 'p', external_id: takenProductId })
  const product = await create('/v2/products', { name: 'p' })
  const price = await create('/v2/prices', unitPrice(product))
  const takenCardId = unique()
  await create('/v2/rate-cards', { ...CARD, external_id: takenCardId })
  const rateCard = await create('/v2/rate-cards', { ...CARD, rates: [rate(metric, price)] })
  const contractExternalId = unique()
  const contract = await create('/v2/contracts', {
    ...newContract(account),
    external_id: contractExternalId,
    lines: [{ minimum_amount: '1' }],
  })
  const endedContract = await create('/v2/contracts', {
    ...newContract(account),
    starts_at: Math.floor(Date.now() / 1_000) - 60,
    ends_at: Math.floor(Date.now() / 1_000) - 30,
  })
  const spare = {
    contract: await create('/v2/contracts', newContract(account)),
    account: await create('/v2/accounts', { name: 'spare' }),
    metric: await create('/v2/metrics', { name: 'spare' }),
    grant: await create('/v2/grants', { account_id: account, currency: 'chf', ...credit }),
    product: await create('/v2/products', { name: 'spare' }),
    price: await create('/v2/prices', unitPrice(product)),
    rateCard: await create('/v2/rate-cards', CARD),
    apiKey: await issueKey(api),
  }
  const used = { account_id: account, metric_id: metric, quantity: '1' }
  const { id: eventId } = await api.create<{ id: string }>('/v2/events', used)
  const { id: voidedEventId } = await api.create<{ id: string }>('/v2/events', used)
  // An event that was just reported may not be loaded yet; then the answer asks for a repeat.
  await until(async () => (await api.post(`/v2/events/${voidedEventId}/void`, {})).status !== 503)
  const apiKey = await issueKey(api)
  const made = { customer, account, metric, grant, product, price, rateCard, eventId, voidedEventId, apiKey }
  const contracts = { contract, contractExternalId, endedContract }
  return { api, ...made, ...contracts, takenExternalId, externalId, takenProductId, takenCardId, spare }
}

const NEW_KEY = { name: 'k', permissions: ['read:all'] }
const issueKey = async (api: ApiClient): Promise<string> =>
  (await api.create<{ api_key: { id: string } }>('/v2/api-keys', NEW_KEY)).api_key.id
const rotation = async ({ api }: World, body: object) => ({
  target: `/v2/api-keys/${await issueKey(api)}/rotate`,
  body,
})

const refill = (account: string, metric: string) => ({
  account_id: account,
  metric_id: metric,
  minimum_balance: '5',
  target_balance: '10',
})
const unitPrice = (product: string) => ({
  product_id: product,
  currency: 'usd',
  model: 'per_unit',
  unit_amount: '3',
})
const CARD = { name: 'c', currency: 'usd' }
const rate = (metric: string, price: string) => ({ metric_id: metric, price_id: price })
const newContract = (account: string) => ({ account_id: account, currency: 'usd', cadence: 'month' })
const event = ({ account, metric }: World) => ({ account_id: account, metric_id: metric, quantity: '1' })
const grant = ({ account, metric }: World) => ({
  account_id: account,
  metric_id: metric,
  amount: '1',
  effective_at: 1_700_000_000,
})
const shownBy = async (api: ApiClient) => (await api.get<{ now: number }>('/v2/test/clock')).body.now
const correctAll = (...corrections: readonly object[]): Request => ({
  target: '/v2/events/corrections',
  body: { corrections },
})
const fixed = (target: string) => () => ({ target })

/** The requests of every operation of openapi.yaml, by its id. */
export const TRIES: Readonly<Record<string, Tries>> = {
  getHealth: { good: fixed('/v2/health') },
  getHealthWithSlash: { good: fixed('/v2/health/') },
  getRoot: { good: fixed('/v2') },
  getRootWithSlash: { good: fixed('/v2/') },
  getOpenApi: { good: fixed('/openapi.yaml') },
  getDocs: { good: fixed('/docs') },

  createCustomer: {
    good: () => ({ target: '/v2/customers', body: { name: 'c', external_id: unique() } }),
    conflict: (world) => ({
      target: '/v2/customers',
      body: { name: 'c', external_id: world.takenExternalId },
    }),
    impossible: () => ({ target: '/v2/customers', body: { name: 'c', external_id: '..' } }),
  },
  listCustomers: { good: fixed('/v2/customers') },
  updateCustomer: {
    good: ({ customer }) => ({ target: `/v2/customers/${customer}`, body: { name: unique() } }),
    impossible: ({ customer, takenExternalId }) => ({
      target: `/v2/customers/${customer}`,
      body: { external_id: takenExternalId },
    }),
  },
  getCustomer: { good: ({ customer }) => ({ target: `/v2/customers/${customer}` }) },

  listAccounts: { good: fixed('/v2/accounts') },
  createAccount: {
    good: () => ({ target: '/v2/accounts', body: { name: 'a' } }),
    conflict: ({ externalId }) => ({ target: '/v2/accounts', body: { name: 'a', external_id: externalId } }),
    impossible: () => ({
      target: '/v2/accounts',
      body: { name: 'a', service_customer_id: '00000000-0000-0000-0000-000000000000' },
    }),
  },
  getAccountByExternalId: {
    good: ({ externalId }) => ({ target: `/v2/accounts/external-id/${externalId}` }),
  },
  getAccount: { good: ({ account }) => ({ target: `/v2/accounts/${account}` }) },
  updateAccount: {
    good: ({ account }) => ({ target: `/v2/accounts/${account}`, body: { description: 'd' } }),
    impossible: ({ account }) => ({
      target: `/v2/accounts/${account}`,
      body: { service_customer_id: '00000000-0000-0000-0000-000000000000' },
    }),
  },
  archiveAccount: { good: ({ spare }) => ({ target: `/v2/accounts/${spare.account}/archive`, body: {} }) },
  unarchiveAccount: {
    good: ({ spare }) => ({ target: `/v2/accounts/${spare.account}/unarchive`, body: {} }),
  },
  getAccountUsage: {
    good: ({ account }) => ({ target: `/v2/accounts/${account}/usage?${RANGE}` }),
    impossible: ({ account }) => ({ target: `/v2/accounts/${account}/usage?start_at=5&end_at=5` }),
  },
  getAccountMonthlyUsage: { good: ({ account }) => ({ target: `/v2/accounts/${account}/usage/monthly` }) },
  getAccountDailyUsage: {
    good: ({ account }) => ({ target: `/v2/accounts/${account}/usage/daily?${RANGE}` }),
    impossible: ({ account }) => ({ target: `/v2/accounts/${account}/usage/daily?start_at=5&end_at=5` }),
  },
  listBalances: { good: ({ account }) => ({ target: `/v2/accounts/balances?account_ids=${account}` }) },
  getAccountBalance: {
    good: ({ account, metric }) => ({ target: `/v2/accounts/${account}/balance?metric_id=${metric}` }),
  },

  getAccountDailyBalance: {
    good: ({ account, metric }) => ({
      target: `/v2/accounts/${account}/balance/daily?metric_id=${metric}&${RANGE}`,
    }),
    impossible: ({ account }) => ({
      target: `/v2/accounts/${account}/balance/daily?currency=usd&start_at=5&end_at=5`,
    }),
  },

  listMetrics: { good: fixed('/v2/metrics') },
  createMetric: {
    good: () => ({ target: '/v2/metrics', body: { name: 'm' } }),
    conflict: ({ externalId }) => ({ target: '/v2/metrics', body: { name: 'm', external_id: externalId } }),
    impossible: () => ({ target: '/v2/metrics', body: { name: 'm', external_id: '..' } }),
  },
  getMetricByExternalId: {
    good: ({ externalId }) => ({ target: `/v2/metrics/external-id/${externalId}` }),
  },
  getMetric: { good: ({ metric }) => ({ target: `/v2/metrics/${metric}` }) },
  updateMetric: {
    good: ({ metric }) => ({ target: `/v2/metrics/${metric}`, body: { description: 'd' } }),
    impossible: ({ metric }) => ({ target: `/v2/metrics/${metric}`, body: { event_type: 'currency:usd' } }),
  },
  archiveMetric: { good: ({ spare }) => ({ target: `/v2/metrics/${spare.metric}/archive`, body: {} }) },
  unarchiveMetric: { good: ({ spare }) => ({ target: `/v2/metrics/${spare.metric}/unarchive`, body: {} }) },
  getMonthlyUsage: {
    good: fixed(`/v2/metrics/usage/monthly?${RANGE}`),
    impossible: fixed('/v2/metrics/usage/monthly?start_at=5&end_at=5'),
  },

  listGrants: {
    good: fixed('/v2/grants'),
    missingToAccountKey: ({ account }) => ({ target: `/v2/grants?account_id=${account}` }),
  },
  createGrant: {
    good: (world) => ({ target: '/v2/grants', body: grant(world) }),
    impossible: (world) => ({ target: '/v2/grants', body: { ...grant(world), account_id: NO_ACCOUNT } }),
  },
  getGrant: { good: ({ grant }) => ({ target: `/v2/grants/${grant}` }) },
  voidGrant: { good: ({ spare }) => ({ target: `/v2/grants/${spare.grant}/void`, body: {} }) },
  archiveGrant: { good: ({ spare }) => ({ target: `/v2/grants/${spare.grant}/archive`, body: {} }) },

  listRefillConfigurations: { good: fixed('/v2/refill-configurations') },
  createRefillConfiguration: {
    good: async ({ api, account }) => ({
      target: '/v2/refill-configurations',
      body: refill(account, (await api.create<{ id: string }>('/v2/metrics', { name: 'm' })).id),
    }),
    conflict: ({ account, metric }) => ({
      target: '/v2/refill-configurations',
      body: refill(account, metric),
    }),
    impossible: ({ account }) => ({ target: '/v2/refill-configurations', body: refill(account, NO_METRIC) }),
  },
  getRefillConfiguration: {
    good: ({ account, metric }) => ({ target: `/v2/refill-configurations/${account}/${metric}` }),
  },
  listRefills: {
    good: ({ account, metric }) => ({ target: `/v2/refill-configurations/${account}/${metric}/refills` }),
  },
  updateRefillConfiguration: {
    good: ({ account, metric }) => ({
      target: `/v2/refill-configurations/${account}/${metric}`,
      body: { is_active: true },
    }),
    impossible: ({ account, metric }) => ({
      target: `/v2/refill-configurations/${account}/${metric}`,
      body: { minimum_balance: '100' },
    }),
  },

  reportEvent: {
    good: (world) => ({ target: '/v2/events', body: event(world) }),
    impossible: (world) => ({ target: '/v2/events', body: { ...event(world), metric_id: NO_METRIC } }),
  },
  reportEvents: {
    good: (world) => ({ target: '/v2/events/batch', body: { events: [event(world)] } }),
    impossible: (world) => ({
      target: '/v2/events/batch',
      body: { events: [{ ...event(world), metric_id: NO_METRIC }] },
    }),
  },
  correctEvents: {
    good: ({ eventId }) => correctAll({ event_id: eventId, quantity: '2' }),
    conflict: ({ voidedEventId }) => correctAll({ event_id: voidedEventId, quantity: '2' }),
    impossible: ({ eventId }) => correctAll({ event_id: eventId }),
  },
  getEvent: { good: ({ eventId }) => ({ target: `/v2/events/${eventId}` }) },
  correctEvent: {
    good: ({ eventId }) => ({ target: `/v2/events/${eventId}`, body: { quantity: '2' } }),
    conflict: ({ voidedEventId }) => ({ target: `/v2/events/${voidedEventId}`, body: { quantity: '2' } }),
    impossible: ({ eventId }) => ({ target: `/v2/events/${eventId}`, body: {} }),
  },
  voidEvent: { good: ({ voidedEventId }) => ({ target: `/v2/events/${voidedEventId}/void`, body: {} }) },
  listEventRevisions: { good: ({ eventId }) => ({ target: `/v2/events/${eventId}/revisions` }) },
  listEvents: {
    good: fixed('/v2/events'),
    impossible: () => ({ target: '/v2/events?sort=occurred_at&start_at=2&end_at=1' }),
  },
  aggregateEvents: {
    good: fixed('/v2/events/aggregate?property=model&value=large'),
    impossible: fixed('/v2/events/aggregate?property=model&value=large&start_at=5&end_at=5'),
  },
  getUsage: {
    good: ({ account, metric }) => ({
      target: `/v2/usage?metric_id=${metric}&account_id=${account}&group_by=property&property=model&${RANGE}`,
    }),
    impossible: fixed('/v2/usage?currency=usd&start_at=5&end_at=5'),
  },
  listCurrencies: { good: fixed('/v2/currencies') },

  getTestClock: { isForTests: true, good: fixed('/v2/test/clock') },
  setTestClock: {
    isForTests: true,
    good: async ({ api }) => ({ target: '/v2/test/clock', body: { now: (await shownBy(api)) + 60 } }),
    impossible: () => ({ target: '/v2/test/clock', body: { now: 1_700_000_000 } }),
  },
  resetTestClock: { isForTests: true, good: fixed('/v2/test/clock') },
  advanceTestClock: {
    isForTests: true,
    good: () => ({ target: '/v2/test/clock/advance', body: { seconds: 60 } }),
    impossible: () => ({ target: '/v2/test/clock/advance', body: { seconds: 315_619_200 } }),
  },
  resetTestCompany: { isForTests: true, good: () => ({ target: '/v2/test/reset', body: {} }) },
  seedTestCompany: {
    isForTests: true,
    good: () => ({ target: '/v2/test/seed', body: { seed: 7 } }),
    // Its usage is in the future, because the clock has returned to real time.
    conflict: async ({ api }) => {
      await api.create('/v2/test/clock/advance', { seconds: 86_400 })
      await api.create('/v2/test/seed', { seed: 8 })
      await api.request('DELETE', '/v2/test/clock', undefined, {})
      return { target: '/v2/test/seed', body: { seed: 8 } }
    },
  },
  drainTestCompany: { isForTests: true, good: () => ({ target: '/v2/test/drain', body: { timeout: 20 } }) },

  listProducts: { good: fixed('/v2/products') },
  createProduct: {
    good: () => ({ target: '/v2/products', body: { name: 'p', external_id: unique() } }),
    conflict: ({ takenProductId }) => ({
      target: '/v2/products',
      body: { name: 'p', external_id: takenProductId },
    }),
    impossible: () => ({ target: '/v2/products', body: { name: 'p', external_id: '.' } }),
  },
  getProduct: { good: ({ product }) => ({ target: `/v2/products/${product}` }) },
  updateProduct: {
    good: ({ product }) => ({ target: `/v2/products/${product}`, body: { name: unique() } }),
    impossible: ({ product, takenProductId }) => ({
      target: `/v2/products/${product}`,
      body: { external_id: takenProductId },
    }),
  },
  archiveProduct: { good: ({ spare }) => ({ target: `/v2/products/${spare.product}/archive`, body: {} }) },
  unarchiveProduct: {
    good: ({ spare }) => ({ target: `/v2/products/${spare.product}/unarchive`, body: {} }),
  },

  listPrices: { good: fixed('/v2/prices') },
  createPrice: {
    good: ({ product }) => ({ target: '/v2/prices', body: unitPrice(product) }),
    impossible: () => ({ target: '/v2/prices', body: unitPrice(NO_PRODUCT) }),
  },
  getPrice: { good: ({ price }) => ({ target: `/v2/prices/${price}` }) },
  updatePrice: { good: ({ price }) => ({ target: `/v2/prices/${price}`, body: { description: 'd' } }) },
  archivePrice: { good: ({ spare }) => ({ target: `/v2/prices/${spare.price}/archive`, body: {} }) },
  unarchivePrice: { good: ({ spare }) => ({ target: `/v2/prices/${spare.price}/unarchive`, body: {} }) },

  listRateCards: { good: fixed('/v2/rate-cards') },
  createRateCard: {
    good: ({ metric, price }) => ({
      target: '/v2/rate-cards',
      body: { ...CARD, rates: [rate(metric, price)], external_id: unique() },
    }),
    conflict: ({ takenCardId }) => ({
      target: '/v2/rate-cards',
      body: { ...CARD, external_id: takenCardId },
    }),
    impossible: ({ price }) => ({
      target: '/v2/rate-cards',
      body: { ...CARD, rates: [rate(NO_METRIC, price)] },
    }),
  },
  getRateCard: { good: ({ rateCard }) => ({ target: `/v2/rate-cards/${rateCard}` }) },
  updateRateCard: {
    good: ({ rateCard }) => ({ target: `/v2/rate-cards/${rateCard}`, body: { name: unique() } }),
    impossible: ({ rateCard, takenCardId }) => ({
      target: `/v2/rate-cards/${rateCard}`,
      body: { external_id: takenCardId },
    }),
  },
  archiveRateCard: {
    good: ({ spare }) => ({ target: `/v2/rate-cards/${spare.rateCard}/archive`, body: {} }),
  },
  unarchiveRateCard: {
    good: ({ spare }) => ({ target: `/v2/rate-cards/${spare.rateCard}/unarchive`, body: {} }),
  },
  listRates: { good: ({ rateCard }) => ({ target: `/v2/rate-cards/${rateCard}/rates` }) },
  changeRateCard: {
    good: async ({ api, price, rateCard }) => ({
      target: `/v2/rate-cards/${rateCard}/changes`,
      body: { add: [rate((await api.create<{ id: string }>('/v2/metrics', { name: 'm' })).id, price)] },
    }),
    impossible: ({ metric, price, rateCard }) => ({
      target: `/v2/rate-cards/${rateCard}/changes`,
      body: { add: [rate(metric, price)] },
    }),
  },
  simulateRateCard: {
    good: ({ rateCard }) => ({
      target: `/v2/rate-cards/${rateCard}/simulate`,
      body: { start_at: 1_700_000_000, end_at: 1_700_086_400 },
    }),
    impossible: ({ rateCard }) => ({
      target: `/v2/rate-cards/${rateCard}/simulate`,
      body: { start_at: 1_700_000_000, end_at: 1_700_000_000 },
    }),
  },

  listContracts: { good: fixed('/v2/contracts') },
  createContract: {
    good: ({ account }) => ({ target: '/v2/contracts', body: newContract(account) }),
    conflict: ({ account, contractExternalId }) => ({
      target: '/v2/contracts',
      body: { ...newContract(account), external_id: contractExternalId },
    }),
    impossible: () => ({ target: '/v2/contracts', body: newContract(NO_ACCOUNT) }),
  },
  getContract: { good: ({ contract }) => ({ target: `/v2/contracts/${contract}` }) },
  updateContract: {
    good: ({ contract }) => ({ target: `/v2/contracts/${contract}`, body: { name: unique() } }),
    conflict: ({ endedContract }) => ({ target: `/v2/contracts/${endedContract}`, body: { name: 'c' } }),
    impossible: ({ contract }) => ({ target: `/v2/contracts/${contract}`, body: { ends_at: 0 } }),
  },
  listContractLines: { good: ({ contract }) => ({ target: `/v2/contracts/${contract}/lines` }) },
  changeContract: {
    good: ({ contract }) => ({
      target: `/v2/contracts/${contract}/changes`,
      body: { add: [{ credit: { amount: '1', currency: 'usd' }, ends_at: 253_402_300_799 }] },
    }),
    conflict: ({ endedContract }) => ({ target: `/v2/contracts/${endedContract}/changes`, body: {} }),
    impossible: ({ contract }) => ({
      target: `/v2/contracts/${contract}/changes`,
      body: { effective_at: 0 },
    }),
  },
  cancelContract: {
    good: ({ spare }) => ({
      target: `/v2/contracts/${spare.contract}/cancel`,
      body: { mode: 'period_end' },
    }),
    conflict: ({ endedContract }) => ({
      target: `/v2/contracts/${endedContract}/cancel`,
      body: { mode: 'immediate' },
    }),
    impossible: ({ spare }) => ({
      target: `/v2/contracts/${spare.contract}/cancel`,
      body: { mode: 'at', cancel_at: 0 },
    }),
  },
  uncancelContract: {
    good: ({ spare }) => ({ target: `/v2/contracts/${spare.contract}/uncancel`, body: {} }),
    conflict: ({ endedContract }) => ({ target: `/v2/contracts/${endedContract}/uncancel`, body: {} }),
  },

  previewInvoice: {
    good: ({ contract }) => ({ target: '/v2/invoice-previews', body: { contract_id: contract } }),
    conflict: ({ endedContract }) => ({
      target: '/v2/invoice-previews',
      body: { contract_id: endedContract, changes: {} },
    }),
    impossible: ({ contract }) => ({
      target: '/v2/invoice-previews',
      body: { contract_id: contract, as_of: 9_999_999_999 },
    }),
  },

  listInvoicePreviews: {
    good: fixed('/v2/invoice-previews'),
    impossible: fixed('/v2/invoice-previews?as_of=9999999999'),
  },

  listApiKeys: { good: fixed('/v2/api-keys') },
  getCaller: { good: fixed('/v2/caller') },
  createApiKey: {
    good: () => ({ target: '/v2/api-keys', body: NEW_KEY }),
    impossible: () => ({ target: '/v2/api-keys', body: { ...NEW_KEY, expires_at: 1 } }),
  },
  getApiKey: { good: ({ apiKey }) => ({ target: `/v2/api-keys/${apiKey}` }) },
  rotateApiKey: {
    good: (world) => rotation(world, { overlap_seconds: 60 }),
    impossible: (world) => rotation(world, {}),
  },
  revokeApiKey: { good: ({ spare }) => ({ target: `/v2/api-keys/${spare.apiKey}/revoke`, body: {} }) },
  listAuditTrail: { good: fixed('/v2/audit-trail') },
}
