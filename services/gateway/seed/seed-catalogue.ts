import type { PriceTerms } from '../../../shared/domain/billing/price.ts'
import type { Rate } from '../../../shared/domain/billing/rate.ts'
import { newId, newUuid } from '../../../shared/domain/ids.ts'
import { contractRepository } from '../../../shared/postgres/contracts.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'
import type { SeededCatalogue } from '../../../shared/postgres/namespace-seeds.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { productRepository } from '../../../shared/postgres/products.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'

/** The things that the catalogue of a seed refers to. */
interface Seeded {
  seed: number
  /** The metrics of tokens and of compute. */
  metricIds: readonly string[]
  /** The account that gets the contract. */
  accountId: string
  /** The start of the contract and of the usage, in Unix seconds. */
  startsAt: number
}

const CURRENCY = 'usd'
const NO_BOUNDS = { includedQuantity: '0', minimumAmount: null, maximumAmount: null }

const BASE: PriceTerms = { model: 'flat', amount: '12', recurring: true }
const LARGE: PriceTerms = { ...NO_BOUNDS, model: 'per_unit', unitAmount: '12', per: '1000000' }
const TOKENS: PriceTerms = {
  ...NO_BOUNDS,
  includedQuantity: '10000',
  model: 'graduated',
  per: '1000000',
  tiers: [
    { upTo: '100000', unitAmount: '4', flatAmount: '0' },
    { upTo: null, unitAmount: '2.5', flatAmount: '0' },
  ],
}
const COMPUTE: PriceTerms = { ...NO_BOUNDS, model: 'package', packageSize: '3600', packageAmount: '0.35' }

/** Makes a small catalogue, and a contract with weekly periods for one account. */
export async function makeCatalogue(
  db: Queryable,
  namespaceId: string,
  seeded: Seeded,
): Promise<SeededCatalogue> {
  const { productIds, prices } = await makePrices(db, namespaceId, seeded)
  const rateCardId = await makeRateCard(db, namespaceId, seeded, prices)
  const contractId = await makeContract(db, namespaceId, seeded, rateCardId)
  return { productIds, priceIds: Object.values(prices), rateCardId, contractId }
}

/** Ids of the prices. */
interface SeededPrices {
  base: string
  /** The price of tokens of large models. `others` is the price of all other tokens. */
  large: string
  others: string
  compute: string
}

/** Makes three products and their prices. */
async function makePrices(
  db: Queryable,
  namespaceId: string,
  { seed }: Seeded,
): Promise<{ productIds: string[]; prices: SeededPrices }> {
  const productOf = async (name: string) => {
    const externalId = `seed-${seed}-product-${name.toLowerCase()}`
    const product = { id: newId('product'), name, description: null, externalId }
    return (await productRepository(db).insert(namespaceId, product)).id
  }
  const priceOf = async (productId: string, terms: PriceTerms) => {
    const price = { id: newId('price'), productId, currency: CURRENCY, terms, description: null }
    return (await priceRepository(db).insert(namespaceId, price)).id
  }
  const platform = await productOf('Platform')
  const tokens = await productOf('Tokens')
  const compute = await productOf('Compute')
  const prices = {
    base: await priceOf(platform, BASE),
    large: await priceOf(tokens, LARGE),
    others: await priceOf(tokens, TOKENS),
    compute: await priceOf(compute, COMPUTE),
  }
  return { productIds: [platform, tokens, compute], prices }
}

/** @returns its id */
async function makeRateCard(
  db: Queryable,
  namespaceId: string,
  { seed, metricIds: [tokens = '', compute = ''] }: Seeded,
  prices: SeededPrices,
): Promise<string> {
  const card = await rateCardRepository(db).insert(namespaceId, {
    id: newId('rate_card'),
    name: 'Standard',
    currency: CURRENCY,
    description: null,
    externalId: `seed-${seed}-rate-card`,
  })
  await rateRepository(db).insert(namespaceId, card.id, [
    rateOf({ priceId: prices.base }),
    rateOf({
      source: tokens,
      groupBy: 'model',
      prices: [{ value: 'large', priceId: prices.large }],
      priceId: prices.others,
    }),
    rateOf({ source: compute, priceId: prices.compute }),
  ])
  return card.id
}

/** @returns its id */
async function makeContract(
  db: Queryable,
  namespaceId: string,
  { seed, accountId, startsAt }: Seeded,
  rateCardId: string,
): Promise<string> {
  const contract = await contractRepository(db).insert(
    namespaceId,
    {
      ...{ startsAt, anchorAt: startsAt, endsAt: null },
      id: newUuid(),
      accountId,
      currency: CURRENCY,
      cadence: 'week', // all weeks have the same length, so a seed always has the same totals
      name: 'Standard',
      description: null,
      externalId: `seed-${seed}-contract`,
    },
    [
      {
        kind: 'card',
        id: newId('contract_line'),
        startsAt,
        endsAt: null,
        rateCardId,
        priceOverrides: [],
        discountPercent: '10',
        description: null,
      },
    ],
  )
  return contract.id
}

/** Makes a rate that is in force from the beginning. It is a fixed charge unless `some` has a source. */
const rateOf = (some: Partial<Rate>): Rate => ({
  id: newId('rate'),
  startsAt: 0,
  endsAt: null,
  source: null,
  aggregation: 'sum',
  filters: [],
  groupBy: null,
  prices: [],
  priceId: null,
  ...some,
})
