import { startOfMonth } from '../../../console/src/format/period.ts'
import type { ApiClient } from '../../support/api-client.ts'
import { until } from '../../support/until.ts'

const DAY_S = 86_400

/** Contracts of a company, as their pages show them. */
export interface ContractWorld {
  /** The first second of the month before, for which the contract below has an invoice with all kinds of lines. */
  month: number
  contract: string
  /** A contract without a line. */
  bareContract: string
  /** A contract whose cancellation has not taken effect. */
  canceledContract: string
}

/** Makes a resource. @returns its id */
const made = async (api: ApiClient, path: string, body: object): Promise<string> =>
  (await api.create<{ id: string }>(path, body)).id

/** Makes an account with usage of a month, a rate card with prices of several models, and contracts. */
export async function makeContractWorld(
  api: ApiClient,
  metric: string,
  hostile: Readonly<Record<string, string>>,
): Promise<ContractWorld> {
  const now = Math.floor(Date.now() / 1_000)
  const month = startOfMonth(now, -1)
  const account = await made(api, '/v2/accounts', { name: 'Globex' })
  const other = await made(api, '/v2/accounts', { name: 'Umbrella\u202Egro.ltd' })
  const catalogue = await makeCatalogue(api, metric, hostile)
  const contract = await made(api, '/v2/contracts', {
    account_id: account,
    currency: 'usd',
    cadence: 'month',
    name: 'Globex 2026',
    starts_at: month,
    lines: linesOf(catalogue, month),
  })
  const bareContract = await made(api, '/v2/contracts', {
    account_id: other,
    currency: 'usd',
    cadence: 'week',
    name: hostile['markup'],
    description: hostile['formula'],
    external_id: hostile['link'],
  })
  const canceledContract = await made(api, '/v2/contracts', {
    account_id: other,
    currency: 'usd',
    cadence: 'year',
    lines: [{ price_id: catalogue.support }],
  })
  await api.create(`/v2/contracts/${canceledContract}/cancel`, {
    mode: 'period_end',
    reason: hostile['turned'],
  })
  await reportMonth(api, account, metric, month)
  return { month, contract, bareContract, canceledContract }
}

interface Catalogue {
  card: string
  seats: string
  support: string
  tokens: string
  ownTokens: string
}

async function makeCatalogue(
  api: ApiClient,
  metric: string,
  hostile: Readonly<Record<string, string>>,
): Promise<Catalogue> {
  const product = (name: string) => made(api, '/v2/products', { name })
  const price = (product_id: string, terms: object) =>
    made(api, '/v2/prices', { product_id, currency: 'usd', ...terms })
  const tokens = await product('Tokens')
  const base = await price(await product('Base fee'), { model: 'flat', amount: '49' })
  const large = await price(tokens, { model: 'per_unit', unit_amount: '3', per: '1000000' })
  const others = await price(tokens, {
    model: 'graduated',
    included_quantity: '1000',
    maximum_amount: '900',
    tiers: [
      { up_to: '10000', unit_amount: '0.005' },
      { up_to: '100000', unit_amount: '0.003', flat_amount: '2' },
      { up_to: null, unit_amount: '0.001' },
    ],
  })
  const seats = await price(await product('Seats'), { model: 'per_unit', unit_amount: '12' })
  const support = await price(await product(hostile['markup'] ?? ''), { model: 'flat', amount: '100' })
  const ownTokens = await price(tokens, { model: 'per_unit', unit_amount: '2.5', per: '1000000' })
  const card = await made(api, '/v2/rate-cards', {
    name: 'Standard',
    currency: 'usd',
    rates: [
      { price_id: base },
      {
        metric_id: metric,
        group_by: 'model',
        prices: [{ value: 'large', price_id: large }],
        price_id: others,
      },
    ],
  })
  return { card, seats, support, tokens, ownTokens }
}

const linesOf = ({ card, seats, support, tokens, ownTokens }: Catalogue, month: number): object[] => [
  {
    rate_card_id: card,
    discount_percent: '10',
    price_overrides: [{ product_id: tokens, value: 'large', price_id: ownTokens }],
  },
  { price_id: seats, quantity: '10', ends_at: month + 15 * DAY_S, description: 'Ten seats, to begin with' },
  // A day of a month: no decimal is exact.
  { price_id: support, ends_at: month + DAY_S },
  { minimum_amount: '500' },
  { credit: { amount: '20', currency: 'usd', expires: 'period_end' } },
]

/** Usage of a month: of a model with a price of its own, of others, and money that no rate covers. */
async function reportMonth(api: ApiClient, account: string, metric: string, month: number): Promise<void> {
  const event = (key: string, quantity: string, fields: object) => ({
    account_id: account,
    metric_id: metric,
    quantity,
    occurred_at: month + 3 * DAY_S,
    idempotency_key: key,
    ...fields,
  })
  await api.create('/v2/events/batch', {
    events: [
      event('large', '1900000', { properties: { model: 'large' } }),
      event('small', '150000.5', { properties: { model: 'small' } }),
      event('none', '7', {}),
      event('usd', '1.25', { metric_id: null, currency: 'usd' }),
    ],
  })
  await until(async () => {
    const { body } = await api.get<{ events_consumed: unknown[] }>(
      `/v2/accounts/${account}/usage?start_at=0&end_at=4294967295&aggregation=count`,
    )
    return JSON.stringify(body.events_consumed).includes('"3"') && body.events_consumed.length === 2
  })
}
