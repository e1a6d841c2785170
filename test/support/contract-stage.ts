import type { ApiClient } from './api-client.ts'

interface Made {
  id: string
}

export interface LineBody extends Made {
  starts_at: number
  ends_at: number | null
  description?: string
  rate_card_id?: string
  price_overrides?: object[]
  discount_percent?: string
  price_id?: string
  quantity?: string
  minimum_amount?: string
  credit?: object
  created_at: number
}

/** A contract as answers show it. */
export interface ContractBody extends Made {
  account_id: string
  currency: string
  cadence: string
  starts_at: number
  anchor_at: number
  ends_at: number | null
  name?: string
  description?: string
  external_id?: string
  status: string
  cancellation: { cancel_at: number; mode: string; reason?: string; requested_at: number } | null
  current_period: { start_at: number; end_at: number; full_start_at: number; full_end_at: number } | null
  /** Absent in lists. */
  lines: LineBody[]
  created_at: number
  updated_at: number
}

/** Makes over HTTP what contracts refer to. */
export const contractStage = (api: ApiClient) => {
  const make = async (path: string, body: object) => (await api.create<Made>(path, body)).id
  const product = () => make('/v2/products', { name: 'x' })
  const account = () => make('/v2/accounts', { name: 'x' })
  const basics = (accountId: string) => ({ account_id: accountId, currency: 'usd', cadence: 'month' })
  return {
    account,
    metric: () => make('/v2/metrics', { name: 'x' }),
    product,

    /** Flat, in dollars, of a product of its own, unless something else is said. */
    price: async (some: object = { model: 'flat', amount: '49' }) =>
      make('/v2/prices', { product_id: await product(), currency: 'usd', ...some }),

    card: (some: object = {}) => make('/v2/rate-cards', { name: 'x', currency: 'usd', ...some }),

    /** What a contract needs at least. */
    basics,

    /** By the month, in dollars, of an account of its own, unless something else is said. */
    contract: async (some: { account_id?: string; [field: string]: unknown } = {}) =>
      api.create<ContractBody>('/v2/contracts', {
        ...basics(some.account_id ?? (await account())),
        ...some,
      }),
  }
}
