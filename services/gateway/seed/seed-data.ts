import { hash } from 'node:crypto'
import { DAY_S } from '../../../shared/domain/time-range.ts'

/** The few resources of a seed. They refer to each other by their indexes in the lists. */
export interface SeedData {
  customers: readonly { name: string; externalId: string }[]
  accounts: readonly { name: string; externalId: string; customer: number | undefined }[]
  metrics: readonly { name: string; externalId: string; description: string; measurementUnits: string }[]
  grants: readonly SeedGrant[]
  /** The refill configuration. It is not active, because with refills balances would differ from run to run. */
  refill: { account: number; metric: number; minimumBalance: string; targetBalance: string }
}

interface SeedGrant {
  account: number
  source: SeedSource
  amount: string
  description: string
  /** Seconds relative to the end of the usage; negative before it. */
  effectiveS: number
  expiresS: number | undefined
}

/** A metric by its index, or a currency. */
export type SeedSource = number | 'usd'

/** One usage event of the data. */
export interface SeedUsage {
  account: number
  source: SeedSource
  quantity: string
  /** Seconds before the end of all usage, at least 1. */
  secondsBefore: number
  key: string
  properties: Readonly<Record<string, string>>
}

export const USAGE_DAYS = 90

const NAMES = ['Acme Robotics', 'Blue Harbour', 'Cinder Labs', 'Dovetail', 'Elm Street Media', 'Foxglove']
const MODELS = ['small', 'medium', 'large']
const REGIONS = ['eu-west', 'us-east']
const CUSTOMERS = 3
const EVENTS_A_DAY = 2

/**
 * Generates the data of a seed. A seed gives the same data on every machine and day, because each number is a hash
 * of the seed and of a text that says what the number is for. Times are relative to the end of the usage.
 */
export function generateSeedData(seed: number): SeedData {
  const first = whole(NAMES.length, seed, 'first customer')
  const customers = Array.from({ length: CUSTOMERS }, (_, n) => ({
    name: NAMES[(first + n) % NAMES.length] as string,
    externalId: `seed-${seed}-customer-${n + 1}`,
  }))
  const accounts = [
    ...customers.flatMap(({ name }, customer) =>
      ['production', 'staging'].map((purpose) => ({ name: `${name} ${purpose}`, customer })),
    ),
    { name: 'Internal', customer: undefined },
  ].map((account, n) => ({ ...account, externalId: `seed-${seed}-account-${n + 1}` }))
  return {
    customers,
    accounts,
    metrics: [
      { name: 'Tokens', description: 'Tokens in and out of a model', measurementUnits: 'tokens' },
      { name: 'Compute', description: 'Seconds of a processor', measurementUnits: 'seconds' },
    ].map((metric, n) => ({ ...metric, externalId: `seed-${seed}-metric-${n + 1}` })),
    grants: accounts.flatMap((_, account) => grantsOf(seed, account)),
    refill: { account: 0, metric: 0, minimumBalance: '10000', targetBalance: '250000' },
  }
}

/** Credit in both metrics from the beginning of the usage. The first account has three more grants, of other kinds. */
function grantsOf(seed: number, account: number): SeedGrant[] {
  const begin = -USAGE_DAYS * DAY_S
  const grant = (source: SeedSource, amount: string, description: string): SeedGrant => ({
    account,
    source,
    amount,
    description,
    effectiveS: begin,
    expiresS: undefined,
  })
  const tokens = String(500_000 + 1_000 * whole(500, seed, account, 'tokens'))
  return [
    grant(0, tokens, 'Tokens of the plan'),
    grant(1, String(50_000 + 100 * whole(500, seed, account, 'compute')), 'Compute of the plan'),
    ...(account === 0
      ? [
          { ...grant(0, '25000', 'Welcome credit, used up in time or not'), expiresS: begin + 30 * DAY_S },
          { ...grant('usd', '250.00', 'Prepaid') },
          { ...grant(0, '100000', 'The next term'), effectiveS: 30 * DAY_S, expiresS: 120 * DAY_S },
        ]
      : []),
  ]
}

/** All usage of a seed: up to EVENTS_A_DAY events a day for each account and metric, and for one currency. */
export function* generateSeedUsage(seed: number, { accounts, metrics }: SeedData): Generator<SeedUsage> {
  for (let day = 0; day < USAGE_DAYS; day++)
    for (const account of accounts.keys())
      for (const source of [...metrics.keys(), ...(account === 0 ? (['usd'] as const) : [])])
        for (let n = 0; n < EVENTS_A_DAY; n++) {
          const what = [seed, account, source, day, n]
          if (fraction(...what, 'is there') < 0.2) continue
          yield {
            account,
            source,
            quantity: quantityOf(source, what),
            secondsBefore: day * DAY_S + 1 + whole(DAY_S, ...what, 'time'),
            key: `seed-${what.join('-')}`,
            properties: {
              model: MODELS[whole(MODELS.length, ...what, 'model')] as string,
              region: REGIONS[whole(REGIONS.length, ...what, 'region')] as string,
            },
          }
        }
}

function quantityOf(source: SeedSource, what: readonly (string | number)[]): string {
  if (source === 0) return String(50 + whole(4_950, ...what, 'tokens'))
  const thousandths = String(whole(source === 'usd' ? 2_000 : 300_000, ...what, 'quantity') + 1).padStart(
    4,
    '0',
  )
  return `${thousandths.slice(0, -3)}.${thousandths.slice(-3)}`
}

/** A number that is at least 0 and less than 1. */
const fraction = (...what: readonly (string | number)[]): number =>
  parseInt(hash('sha256', what.join('/'), 'hex').slice(0, 12), 16) / 2 ** 48

/** A whole number from 0 to max - 1. */
const whole = (max: number, ...what: readonly (string | number)[]): number =>
  Math.floor(fraction(...what) * max)
