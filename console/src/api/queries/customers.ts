import type { Client } from '../client.ts'
import type { ReadPath, ReadQuery, Schema } from '../contract.ts'
import { byId, type Listing, listing } from './reading.ts'

export const customerListing = (
  client: Client,
  query: ReadQuery<'/v2/customers'>,
): Listing<Schema<'Customer'>> => listing(client, '/v2/customers', {}, { ...query, order: 'newest' }, byId)

/** What changes with a customer: accounts are also found by its name. */
export const CUSTOMER_CHANGES = [
  '/v2/customers',
  '/v2/customers/{customer_id}',
  '/v2/accounts',
] as const satisfies readonly ReadPath[]
