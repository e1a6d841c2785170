import type { DataSet } from './data-set/data-set.ts'
import { CURRENCY, MODELS, REGIONS } from './data-set/made-up-events.ts'
import type { TallyClient } from './tally-client.ts'

/** A rate card that accounts follow, and the number of lines on its invoices. */
export interface Kind {
  name: string
  card: string
  /** The first of the accounts that follow it; an account follows only one card at a time. */
  firstAccount: number
  /** The share of the requests to send, because each takes long. */
  ofRequests: number
  ratesOf: (dataSet: DataSet, prices: Prices) => object[]
}

interface Prices {
  flat: string
  perUnit: string
}

export interface Named {
  id: string
}

export interface List {
  data: Named[]
}

const AGGREGATIONS = ['sum', 'count', 'min', 'max', 'avg', 'latest']
const LINES = 200
/** The number of accounts of each kind that have a contract. */
export const ACCOUNTS_EACH = 200

export const TEN: Kind = {
  name: '10 lines',
  card: 'bench: 10 lines',
  firstAccount: 100,
  ofRequests: 1,
  ratesOf: (dataSet, prices) => [
    ...usageRates(dataSet, prices).slice(0, 8),
    ...Array.from({ length: 2 }, () => ({ price_id: prices.flat })),
  ],
}

export const KINDS: readonly Kind[] = [
  TEN,
  {
    name: `${LINES} lines without properties`,
    card: `bench: ${LINES} lines`,
    firstAccount: 100 + ACCOUNTS_EACH,
    ofRequests: 1,
    ratesOf: (dataSet, prices) => {
      const measured = usageRates(dataSet, prices)
      const fixed = Array.from({ length: LINES - measured.length }, () => ({ price_id: prices.flat }))
      return [...measured, ...fixed]
    },
  },
  {
    name: `${LINES} lines by property`,
    card: `bench: ${LINES} lines by property`,
    firstAccount: 100 + 2 * ACCOUNTS_EACH,
    ofRequests: 0.2,
    ratesOf: ratesByProperty,
  },
]

/** Returns one rate for each source and aggregation, because more would count an event twice. */
export const usageRates = (dataSet: DataSet, { perUnit }: Prices): object[] =>
  sourcesOf(dataSet).flatMap((source) =>
    AGGREGATIONS.map((aggregation) => ({ ...source, aggregation, price_id: perUnit })),
  )

const sourcesOf = ({ metrics }: DataSet): object[] => [
  ...metrics.map((metric_id) => ({ metric_id })),
  { currency: CURRENCY },
]

/** Returns rates in which each model in each region has its own price. */
function ratesByProperty(dataSet: DataSet, { perUnit }: Prices): object[] {
  const rates = sourcesOf(dataSet).flatMap((source) =>
    AGGREGATIONS.flatMap((aggregation) =>
      REGIONS.map((region) => ({
        ...source,
        aggregation,
        filters: [{ property: 'region', values: [region] }],
        group_by: 'model',
        prices: MODELS.map((value) => ({ value, price_id: perUnit })),
      })),
    ),
  )
  return rates.slice(0, LINES / MODELS.length)
}

/** Makes the rate card of a kind with its prices, unless the data set has it. */
export async function findOrMakeCard(
  client: TallyClient,
  dataSet: DataSet,
  kind: Kind,
): Promise<{ id: string; isNew: boolean }> {
  const [found] = (await client.get<List>(`/v2/rate-cards?external_id=${encodeURIComponent(kind.card)}`)).data
  if (found !== undefined) return { id: found.id, isNew: false }
  const { id: product } = await client.create<Named>('/v2/products', { name: kind.name })
  const priceOf = async (terms: object) =>
    (await client.create<Named>('/v2/prices', { product_id: product, currency: CURRENCY, ...terms })).id
  const prices = {
    flat: await priceOf({ model: 'flat', amount: '49' }),
    perUnit: await priceOf({ model: 'per_unit', unit_amount: '3', per: '1000000' }),
  }
  const { id } = await client.create<Named>('/v2/rate-cards', {
    name: kind.name,
    external_id: kind.card,
    currency: CURRENCY,
    rates: kind.ratesOf(dataSet, prices),
  })
  return { id, isNew: true }
}
