import type { ApiClient } from '../../support/api-client.ts'
import { until } from '../../support/until.ts'
import { HOSTILE } from '../hostile-texts.ts'

/** What the pages of usage, metrics and customers show. */
export interface ExploreWorld {
  /** A metric whose events have properties. */
  requests: string
  /** An account with usage of it, and a contract with usage that nothing prices. */
  explored: string
  /** Who pays for the account. */
  payer: string
  /** A customer without an account. */
  lonely: string
}

const DAY_S = 86_400
const MODELS = 12

/** Makes usage of fourteen models and of none, two contracts, and customers whose names others wrote. */
export async function makeExploreWorld(api: ApiClient): Promise<ExploreWorld> {
  const make = async (target: string, body: object): Promise<string> =>
    (await api.create<{ id: string }>(target, body)).id
  const payer = await make('/v2/customers', { name: 'Explorer Ltd', external_id: 'explorer-ltd' })
  const lonely = await make('/v2/customers', { name: 'Lonely Ltd' })
  for (const name of Object.values(HOSTILE)) await api.create('/v2/customers', { name })
  const requests = await make('/v2/metrics', {
    name: 'Requests',
    measurement_units: 'requests',
    event_type: 'request.done',
    event_quantity: 'requests',
    external_id: 'requests',
  })
  const odd = await make('/v2/metrics', { name: HOSTILE.markup, measurement_units: HOSTILE.turned })
  await api.create(`/v2/metrics/${odd}/archive`, {})
  const explored = await make('/v2/accounts', { name: 'Explored', service_customer_id: payer })
  const second = await make('/v2/accounts', { name: 'Second', service_customer_id: payer })
  await agree(make, requests, [explored, second])
  await report(api, requests, explored, second)
  return { requests, explored, payer, lonely }
}

/** A price for requests, and a contract for each account. */
async function agree(
  make: (target: string, body: object) => Promise<string>,
  requests: string,
  accounts: readonly string[],
): Promise<void> {
  const product = await make('/v2/products', { name: 'Requests' })
  const price = await make('/v2/prices', {
    product_id: product,
    currency: 'usd',
    model: 'per_unit',
    unit_amount: '3',
    per: '1000',
  })
  const card = await make('/v2/rate-cards', {
    name: 'By request',
    currency: 'usd',
    rates: [{ metric_id: requests, price_id: price }],
  })
  for (const account of accounts)
    await make('/v2/contracts', {
      account_id: account,
      currency: 'usd',
      cadence: 'month',
      starts_at: Math.floor(Date.now() / 1_000) - 40 * DAY_S,
      lines: [{ rate_card_id: card }],
    })
}

/** Usage of the last days, and of today. */
async function report(api: ApiClient, metric: string, explored: string, second: string): Promise<void> {
  const now = Math.floor(Date.now() / 1_000)
  const event = (key: string, fields: object) => ({
    account_id: explored,
    metric_id: metric,
    occurred_at: now,
    idempotency_key: key,
    ...fields,
  })
  const models = Array.from({ length: MODELS }, (_, at) =>
    event(`model-${at}`, {
      quantity: `${(MODELS - at) * 1_000}.25`,
      occurred_at: now - at * DAY_S,
      properties: { model: `model-${String(at + 1).padStart(2, '0')}`, region: at % 2 === 0 ? 'eu' : 'us' },
    }),
  )
  const events = [
    ...models,
    event('markup', { quantity: '500', properties: { model: HOSTILE.markup } }),
    event('formula', { quantity: '400', properties: { model: HOSTILE.formula } }),
    event('without', { quantity: '77.5', properties: { region: 'eu', [HOSTILE.link]: true } }),
    event('second', { quantity: '77.5', account_id: second }),
    event('money', { quantity: '1.25', metric_id: null, currency: 'usd' }),
  ]
  await api.create('/v2/events/batch', { events })
  await until(async () => {
    const { body } = await api.get<{ total: { event_count: number } }>(
      `/v2/usage?metric_id=${metric}&start_at=0&end_at=4294967295`,
    )
    return body.total.event_count === events.length - 1
  })
}
