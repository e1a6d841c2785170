import type { ApiClient } from '../../support/api-client.ts'
import { until } from '../../support/until.ts'

/** An account with events of several days, of which some were corrected or voided, and with a contract. */
export interface SupportWorld {
  account: string
  /** The event of a quantity of 250 with the property model = small, corrected to 240. */
  corrected: string
  /** An event that does not count. */
  voided: string
  /** The UTC day of these events. */
  day: string
}

const DAY_S = 86_400
const NOON_S = 43_200

/** @param hostile a text that others may have written, as the value of a property */
export async function makeSupportWorld(
  api: ApiClient,
  metric: string,
  hostile: string,
): Promise<SupportWorld> {
  const account = await api.create<{ id: string }>('/v2/accounts', {
    name: 'Beta support',
    external_id: 'beta-support',
    description: 'Asks often.',
  })
  await api.create('/v2/grants', {
    account_id: account.id,
    metric_id: metric,
    amount: '10000',
    effective_at: 0,
  })
  const now = Math.floor(Date.now() / 1_000)
  const noon = now - (now % DAY_S) - 3 * DAY_S + NOON_S
  const { event_ids: ids } = await api.create<{ event_ids: string[] }>('/v2/events/batch', {
    events: [
      { quantity: '1900.5', occurred_at: noon, properties: { model: 'large', region: 'eu' } },
      { quantity: '250', occurred_at: noon + 60, properties: { model: 'small', region: 'us' } },
      { quantity: '7', occurred_at: noon + 120, properties: { model: hostile, tries: 2, tags: ['a', 'b'] } },
      { quantity: '100', occurred_at: noon + 180 },
      { quantity: '1.25', occurred_at: noon + DAY_S, properties: { model: 'large' } },
    ].map((event) => ({ account_id: account.id, metric_id: metric, ...event })),
  })
  const [, corrected = '', , voided = ''] = ids
  await api.patch(`/v2/events/${corrected}`, { quantity: '240' })
  await api.patch(`/v2/events/${corrected}`, { properties: { model: 'small', region: 'eu', by: 'support' } })
  await api.create(`/v2/events/${voided}/void`, {})
  await makeContract(api, account.id, metric, noon - 10 * DAY_S)
  await until(async () => {
    const { body } = await api.get<{ usage_total: string }>(
      `/v2/accounts/${account.id}/balance?metric_id=${metric}`,
    )
    return body.usage_total === '2148.75'
  })
  return { account: account.id, corrected, voided, day: new Date(noon * 1_000).toISOString().slice(0, 10) }
}

async function makeContract(
  api: ApiClient,
  account: string,
  metric: string,
  startsAt: number,
): Promise<void> {
  const product = await api.create<{ id: string }>('/v2/products', { name: 'Support tokens' })
  const price = (fields: object) =>
    api.create<{ id: string }>('/v2/prices', { product_id: product.id, currency: 'usd', ...fields })
  const fee = await price({ model: 'flat', amount: '49' })
  const perToken = await price({ model: 'per_unit', unit_amount: '3', per: '1000' })
  const card = await api.create<{ id: string }>('/v2/rate-cards', {
    name: 'Support card',
    currency: 'usd',
    rates: [{ metric_id: metric, price_id: perToken.id }],
  })
  await api.create('/v2/contracts', {
    account_id: account,
    currency: 'usd',
    cadence: 'year',
    starts_at: startsAt,
    name: 'Standard',
    lines: [{ rate_card_id: card.id }, { price_id: fee.id }],
  })
}
