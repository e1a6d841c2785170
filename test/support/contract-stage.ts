import type { SchemaOf } from '../../shared/http/operation.ts'
import type { ApiClient } from './api-client.ts'

export type LineBody = SchemaOf<'ContractLine'>

export type ContractBody = SchemaOf<'Contract'>

/** Makes over HTTP what contracts refer to. */
export const contractStage = (api: ApiClient) => {
  const make = async (path: string, body: object) => (await api.create<{ id: string }>(path, body)).id
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
