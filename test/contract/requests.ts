import type { ApiClient } from '../support/api-client.ts'

/** A request of an operation. */
export interface Request {
  target: string
  body?: unknown
}

/** How to make an operation answer each status that a request alone can cause. */
export interface Tries {
  /** Succeeds; may be called again and again. */
  good: (world: World) => Request | Promise<Request>
  /** Names what does not exist, for operations that list 404; without one, `good` as another company. */
  missing?: (world: World) => Request
  conflict?: (world: World) => Request | Promise<Request>
  impossible?: (world: World) => Request | Promise<Request>
}

/** Some of everything, in one namespace. */
export interface World {
  customer: string
  account: string
  externalId: string
  metric: string
  grant: string
}

let made = 0
const unique = (): string => `unique-${made++}`
const NO_ACCOUNT = `account_${'0'.repeat(32)}`
const NO_METRIC = `metric_${'0'.repeat(32)}`
const RANGE = 'start_at=1700000000&end_at=1700086400'

export async function makeRequestWorld(api: ApiClient): Promise<World> {
  const externalId = unique()
  const customer = await api.create<{ id: string }>('/v2/customers', { name: 'c', external_id: unique() })
  const account = await api.create<{ id: string }>('/v2/accounts', {
    name: 'a',
    external_id: externalId,
    service_customer_id: customer.id,
  })
  const metric = await api.create<{ id: string }>('/v2/metrics', { name: 'm' })
  const grant = await api.create<{ id: string }>('/v2/grants', {
    account_id: account.id,
    metric_id: metric.id,
    amount: '10',
    effective_at: 0,
  })
  return { customer: customer.id, account: account.id, externalId, metric: metric.id, grant: grant.id }
}

const event = ({ account, metric }: World) => ({ account_id: account, metric_id: metric, quantity: '1' })
const grant = ({ account, metric }: World) => ({
  account_id: account,
  metric_id: metric,
  amount: '1',
  effective_at: 1_700_000_000,
})
const fixed = (target: string) => () => ({ target })

/** Every operation of openapi.yaml, by its id. */
export const TRIES: Readonly<Record<string, Tries>> = {
  getHealth: { good: fixed('/v2/health') },
  getHealthWithSlash: { good: fixed('/v2/health/') },
  getRoot: { good: fixed('/v2') },
  getRootWithSlash: { good: fixed('/v2/') },
  getOpenApi: { good: fixed('/openapi.yaml') },
  getDocs: { good: fixed('/docs') },

  createCustomer: {
    good: () => ({ target: '/v2/customers', body: { name: 'c', external_id: unique() } }),
    conflict: (world) => ({ target: '/v2/customers', body: { name: 'c', external_id: world.externalId } }),
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
  getAccountUsage: {
    good: ({ account }) => ({ target: `/v2/accounts/${account}/usage?${RANGE}` }),
    impossible: ({ account }) => ({ target: `/v2/accounts/${account}/usage?start_at=5&end_at=5` }),
  },
  getAccountBalance: {
    good: ({ account, metric }) => ({ target: `/v2/accounts/${account}/balance?metric_id=${metric}` }),
  },

  listMetrics: { good: fixed('/v2/metrics') },
  createMetric: { good: () => ({ target: '/v2/metrics', body: { name: 'm' } }) },

  listGrants: { good: fixed('/v2/grants') },
  createGrant: {
    good: (world) => ({ target: '/v2/grants', body: grant(world) }),
    impossible: (world) => ({ target: '/v2/grants', body: { ...grant(world), account_id: NO_ACCOUNT } }),
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
  listEvents: { good: fixed('/v2/events') },
}
