import type { Client } from '../client.ts'
import type { Schema } from '../contract.ts'
import { accountListing } from './accounts.ts'
import { byId, FRESH_MS, type Listing, listing, POLL_MS, type Reading, reading } from './reading.ts'

export const testClockReading = (client: Client): Reading<Schema<'TestClock'>> =>
  reading(client, '/v2/test/clock', {}, {}, { staleMs: 0, pollMs: POLL_MS })

/** The accounts that a seed made: their external ids name it. */
export const seededAccountListing = (client: Client): Listing<Schema<'Account'>> => ({
  ...accountListing(client, { query: 'seed-' }),
  staleMs: FRESH_MS,
})

/** The newest contracts. Their periods depend on the time. */
export const newestContractListing = (client: Client): Listing<Schema<'ContractSummary'>> => ({
  ...listing(client, '/v2/contracts', {}, { order: 'newest' }, byId),
  staleMs: FRESH_MS,
})
