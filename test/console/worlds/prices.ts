import type { ApiClient } from '../../support/api-client.ts'
import { HOSTILE } from '../hostile-texts.ts'

/** Products, prices of every model, rate cards, and usage of last month that they price. */
export interface PricesWorld {
  /** The metric that the card prices. */
  metric: string
  accounts: string[]
  product: string
  prices: Record<'unit' | 'graduated' | 'volume' | 'package' | 'percentage' | 'flat', string>
  card: string
  /** The rate of the card that is priced by unit. */
  rate: string
  /** A card without rates. */
  bareCard: string
  /** The first second of last month. */
  month: number
}

interface Named {
  id: string
}

const DAY_S = 86_400
/** The usage of the accounts in calls. */
const CALLS = ['500', '1000', '1000.5', '2000', '5000']

/** Makes prices and cards, and usage of last month. */
export async function makePricesWorld(api: ApiClient): Promise<PricesWorld> {
  const create = async (path: string, body: object) => (await api.create<Named>(path, body)).id
  const now = Math.floor(Date.now() / 1_000)
  const month = startOfLastMonth(now)
  const metric = await create('/v2/metrics', { name: 'Calls', measurement_units: 'calls' })
  const accounts: string[] = []
  for (const index of CALLS.keys())
    accounts.push(await create('/v2/accounts', { name: `Caller ${index + 1}` }))
  const events = accounts.map((account_id, index) => ({
    ...{ account_id, metric_id: metric, quantity: CALLS[index], occurred_at: month + DAY_S },
    idempotency_key: `calls-${index}`,
  }))
  await api.create('/v2/events/batch', { events })
  await api.create('/v2/test/drain', { timeout: 20 })
  const product = await create('/v2/products', {
    name: 'API calls',
    external_id: 'calls',
    description: 'Each call.',
  })
  await create('/v2/products', { name: HOSTILE.markup, external_id: HOSTILE.turned })
  const prices = await makePrices(create, product)
  const { id: card, rates } = await api.create<Named & { rates: Named[] }>('/v2/rate-cards', {
    ...{ name: 'Standard', external_id: 'standard', currency: 'usd', description: 'What everybody pays.' },
    rates: ratesOf(metric, prices),
  })
  const rate = rates[0]?.id ?? ''
  const dearer = await create('/v2/prices', {
    product_id: product,
    currency: 'usd',
    model: 'flat',
    amount: '59',
  })
  await api.create(`/v2/rate-cards/${card}/changes`, {
    effective_at: now + 20 * DAY_S,
    end: [rates[2]?.id ?? ''],
    add: [{ price_id: dearer }],
  })
  const bareCard = await create('/v2/rate-cards', { name: HOSTILE.long, currency: 'usd' })
  return { metric, accounts, product, prices, card, rate, bareCard, month }
}

async function makePrices(
  create: (path: string, body: object) => Promise<string>,
  product_id: string,
): Promise<PricesWorld['prices']> {
  const price = (model: string, terms: object) =>
    create('/v2/prices', { product_id, currency: 'usd', model, ...terms })
  const tiers = [
    { up_to: '1000', unit_amount: '0.012' },
    { up_to: null, unit_amount: '0.006', flat_amount: '0.5' },
  ]
  return {
    unit: await price('per_unit', { unit_amount: '0.01' }),
    graduated: await price('graduated', { tiers }),
    volume: await price('volume', { tiers, description: 'One tier prices all.' }),
    package: await price('package', {
      ...{ package_size: '1000', package_amount: '5', included_quantity: '500' },
      ...{ minimum_amount: '3', maximum_amount: '22.5' },
    }),
    percentage: await price('percentage', { percent: '2.9' }),
    flat: await price('flat', { amount: '49' }),
  }
}

const ratesOf = (metric_id: string, { unit, package: pack, flat }: PricesWorld['prices']): object[] => [
  { metric_id, price_id: unit },
  {
    ...{ metric_id, aggregation: 'count', filters: [{ property: 'region', values: ['eu', 'us'] }] },
    ...{ group_by: 'model', prices: [{ value: HOSTILE.formula, price_id: pack }] },
  },
  { price_id: flat },
]

function startOfLastMonth(now: number): number {
  const date = new Date(now * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1, 1) / 1_000
}
