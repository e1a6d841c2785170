import type { ApiClient } from '../../support/api-client.ts'
import { until } from '../../support/until.ts'
import { HOSTILE } from '../hostile-texts.ts'

/** The texts of resources that others name: each field of another kind. */
export interface HostileTexts {
  name: string
  externalId: string
  description: string
  unit: string
}

export const HOSTILE_TEXTS: Readonly<Record<string, HostileTexts>> = {
  'markup and addresses': {
    name: HOSTILE.markup,
    externalId: HOSTILE.link,
    description: HOSTILE.formula,
    unit: HOSTILE.markup,
  },
  'long and turned text': {
    name: HOSTILE.emoji,
    externalId: HOSTILE.turned,
    description: HOSTILE.long.repeat(8),
    unit: HOSTILE.long,
  },
}

/** The parameters of routes, for resources whose texts are hostile. A route with another parameter needs it here. */
export type HostileIds = Readonly<Record<string, string>>

/** Makes one resource of each kind, all with hostile texts, and an event with 16 KiB of properties. */
export async function makeHostileIds(api: ApiClient, texts: HostileTexts): Promise<HostileIds> {
  const { name, externalId, description, unit } = texts
  const make = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
  const customerId = await make('/v2/customers', { name, external_id: externalId })
  const accountId = await make('/v2/accounts', {
    name,
    description,
    external_id: externalId,
    service_customer_id: customerId,
  })
  const metricId = await make('/v2/metrics', { name, description, measurement_units: unit })
  await api.create('/v2/api-keys', { name, permissions: ['read:all'] })
  await make('/v2/grants', {
    account_id: accountId,
    metric_id: metricId,
    amount: '99999999999999999999.999999999999999999',
    effective_at: 0,
    description,
  })
  const eventId = await report(api, accountId, metricId, texts)
  const billing = await makeBilling(api, accountId, metricId, texts)
  return { customerId, accountId, metricId, eventId, ...billing }
}

async function report(
  api: ApiClient,
  accountId: string,
  metricId: string,
  { name, description }: HostileTexts,
): Promise<string> {
  const event = {
    account_id: accountId,
    metric_id: metricId,
    quantity: '0.000000000000000001',
    occurred_at: Math.floor(Date.now() / 1_000) - 60,
    idempotency_key: name.slice(0, 64),
    properties: { [HOSTILE.markup]: HOSTILE.link, model: name, description, long: 'y'.repeat(13_000) },
  }
  const { id } = await api.create<{ id: string }>('/v2/events', event)
  await until(async () => (await api.get(`/v2/events/${id}`)).status === 200)
  return id
}

async function makeBilling(
  api: ApiClient,
  accountId: string,
  metricId: string,
  { name, externalId, description }: HostileTexts,
): Promise<HostileIds> {
  const make = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
  const productId = await make('/v2/products', { name, description })
  const price = { product_id: productId, currency: 'usd', description }
  const priceId = await make('/v2/prices', { ...price, model: 'per_unit', unit_amount: '3', per: '1000000' })
  const rates = [
    {
      metric_id: metricId,
      group_by: 'model',
      prices: [{ value: name, price_id: priceId }],
      price_id: priceId,
    },
  ]
  const rateCardId = await make('/v2/rate-cards', { name, description, currency: 'usd', rates })
  const contractId = await make('/v2/contracts', {
    account_id: accountId,
    currency: 'usd',
    cadence: 'month',
    starts_at: Math.floor(Date.now() / 1_000) - 3_600,
    name,
    external_id: externalId,
    description,
    lines: [{ rate_card_id: rateCardId }],
  })
  return { productId, priceId, rateCardId, contractId }
}
