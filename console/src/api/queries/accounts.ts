import type { Client } from '../client.ts'
import type { ReadPath, ReadQuery, Schema } from '../contract.ts'
import { byId, FRESH_MS, type Listing, listing, type Reading, reading, RESOURCE_MS } from './reading.ts'

/** What changes with an account. */
export const ACCOUNT_CHANGES = [
  '/v2/accounts',
  '/v2/accounts/{account_id}',
  '/v2/accounts/external-id/{external_id}',
  '/v2/audit-trail',
] as const satisfies readonly ReadPath[]

export const accountListing = (
  client: Client,
  query: ReadQuery<'/v2/accounts'>,
): Listing<Schema<'Account'>> => listing(client, '/v2/accounts', {}, query, byId)

export const accountReading = (client: Client, id: string): Reading<Schema<'Account'>> =>
  reading(client, '/v2/accounts/{account_id}', { account_id: id }, {}, { staleMs: RESOURCE_MS })

export const accountByExternalIdReading = (client: Client, externalId: string): Reading<Schema<'Account'>> =>
  reading(
    client,
    '/v2/accounts/external-id/{external_id}',
    { external_id: externalId },
    {},
    { staleMs: FRESH_MS },
  )

export const customerReading = (client: Client, id: string): Reading<Schema<'Customer'>> =>
  reading(client, '/v2/customers/{customer_id}', { customer_id: id }, {}, { staleMs: RESOURCE_MS })
