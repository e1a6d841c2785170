import type { SchemaOf } from '../../shared/http/operation.ts'
import type { ApiClient } from './api-client.ts'

export type LineBody = SchemaOf<'ContractLine'>

export type ContractBody = SchemaOf<'Contract'>

/** Makes over HTTP the resources to which contracts refer. */
export const contractStage = (api: ApiClient) => {
  const make = async (path: string, body: object) => (await api.create<{ id: string }>(path, body)).id
  const product = () => make('/v2/products', { name: 'x' })
  const account = () => make('/v2/accounts', { name: 'x' })
  const basics = (accountId: string) => ({ account_id: accountId, currency: 'usd', cadence: 'month' })
  return {
    account,
    metric: () => make('/v2/metrics', { name: 'x' }),
    product,

    /** Makes a price; by default flat, in dollars, of a new product. */
    price: async (some: object = { model: 'flat', amount: '49' }) =>
      make('/v2/prices', { product_id: await product(), currency: 'usd', ...some }),

    card: (some: object = {}) => make('/v2/rate-cards', { name: 'x', currency: 'usd', ...some }),

    /** The required fields of a contract. */
    basics,

    /** Makes a contract; by default monthly, in dollars, of a new account. */
    contract: async (some: { account_id?: string; [field: string]: unknown } = {}) =>
      api.create<ContractBody>('/v2/contracts', {
        ...basics(some.account_id ?? (await account())),
        ...some,
      }),
  }
}
