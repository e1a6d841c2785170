import type { Rate } from '../../../shared/domain/billing/rate.ts'
import type { PriceTerms } from '../../../shared/domain/billing/price.ts'
import { newId, newUuid } from '../../../shared/domain/ids.ts'
import { contractRepository } from '../../../shared/postgres/contracts.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { productRepository } from '../../../shared/postgres/products.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import type { SeededCatalogue } from '../../../shared/postgres/namespace-seeds.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'

/** What the catalogue of a seed refers to. */
interface Seeded {
  seed: number
  /** Of tokens and of compute. */
  metricIds: readonly string[]
  /** Who gets the contract. */
  accountId: string
  /** When the contract begins, in Unix seconds: usage goes from there to now. */
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

/** Makes a small catalogue, and a contract that has an account follow it from week to week. */
export async function makeCatalogue(
  db: Queryable,
  namespaceId: string,
  { seed, metricIds: [tokens = '', compute = ''], accountId, startsAt }: Seeded,
): Promise<SeededCatalogue> {
  const productOf = async (name: string) =>
    productRepository(db).insert(namespaceId, {
      id: newId('product'),
      name,
      description: null,
      externalId: `seed-${seed}-product-${name.toLowerCase()}`,
    })
  const priceOf = async (product: { id: string }, terms: PriceTerms) =>
    priceRepository(db).insert(namespaceId, {
      id: newId('price'),
      productId: product.id,
      currency: CURRENCY,
      terms,
      description: null,
    })
  const products = [
    await productOf('Platform'),
    await productOf('Tokens'),
    await productOf('Compute'),
  ] as const
  const [platform, ofTokens, ofCompute] = products
  const prices = [
    await priceOf(platform, BASE),
    await priceOf(ofTokens, LARGE),
    await priceOf(ofTokens, TOKENS),
    await priceOf(ofCompute, COMPUTE),
  ] as const
  const [base, large, others, machines] = prices
  const card = await rateCardRepository(db).insert(namespaceId, {
    id: newId('rate_card'),
    name: 'Standard',
    currency: CURRENCY,
    description: null,
    externalId: `seed-${seed}-rate-card`,
  })
  await rateRepository(db).insert(namespaceId, card.id, [
    rateOf({ priceId: base.id }),
    rateOf({
      source: tokens,
      groupBy: 'model',
      prices: [{ value: 'large', priceId: large.id }],
      priceId: others.id,
    }),
    rateOf({ source: compute, priceId: machines.id }),
  ])
  const times = { startsAt, anchorAt: startsAt, endsAt: null }
  const contract = await contractRepository(db).insert(
    namespaceId,
    {
      ...times,
      id: newUuid(),
      accountId,
      currency: CURRENCY,
      cadence: 'week', // as long at whatever time: a seed's totals are the same
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
        rateCardId: card.id,
        priceOverrides: [],
        discountPercent: '10',
        description: null,
      },
    ],
  )
  return {
    productIds: products.map(({ id }) => id),
    priceIds: prices.map(({ id }) => id),
    rateCardId: card.id,
    contractId: contract.id,
  }
}

/** A rate that is in force from the beginning on; a fixed charge unless it says otherwise. */
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
