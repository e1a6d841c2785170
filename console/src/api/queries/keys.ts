import type { Client } from '../client.ts'
import type { ReadQuery, Schema } from '../contract.ts'
import { byId, type Listing, listing } from './reading.ts'

/** The keys of the whole company. */
export const apiKeyListing = (client: Client): Listing<Schema<'ApiKey'>> =>
  listing(client, '/v2/api-keys', {}, {}, byId)

export const accountKeyListing = (client: Client, accountId: string): Listing<Schema<'ApiKey'>> =>
  listing(client, '/v2/api-keys', {}, { account_id: accountId }, byId)

/** All changes, newest first. */
export const trailListing = (
  client: Client,
  query: ReadQuery<'/v2/audit-trail'>,
): Listing<Schema<'AuditEntry'>> => ({ ...listing(client, '/v2/audit-trail', {}, query, byId), staleMs: 0 })
