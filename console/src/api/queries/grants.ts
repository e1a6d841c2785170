import type { Client } from '../client.ts'
import type { ReadQuery, Schema } from '../contract.ts'
import { byId, type Listing, listing } from './reading.ts'

export const grantListing = (client: Client, query: ReadQuery<'/v2/grants'>): Listing<Schema<'Grant'>> =>
  listing(client, '/v2/grants', {}, { ...query, order: 'newest' }, byId)

export const refillConfigurationListing = (
  client: Client,
  query: ReadQuery<'/v2/refill-configurations'>,
): Listing<Schema<'RefillConfiguration'>> =>
  listing(
    client,
    '/v2/refill-configurations',
    {},
    query,
    ({ account_id, metric_id }) => `${account_id}/${metric_id}`,
  )

export const refillListing = (
  client: Client,
  accountId: string,
  metricId: string,
): Listing<Schema<'Refill'>> =>
  listing(
    client,
    '/v2/refill-configurations/{account_id}/{metric_id}/refills',
    { account_id: accountId, metric_id: metricId },
    { order: 'newest' },
    ({ grant_id }) => grant_id,
  )
