import type { Client } from '../client.ts'
import type { ReadPath, ReadQuery, Schema } from '../contract.ts'
import { byId, type Listing, listing, type Reading, reading, RESOURCE_MS } from './reading.ts'

/** What changes with a contract. */
export const CONTRACT_CHANGES = [
  '/v2/contracts',
  '/v2/contracts/{contract_id}',
  '/v2/contracts/{contract_id}/lines',
  '/v2/invoice-previews',
] as const satisfies readonly ReadPath[]

export const contractListing = (
  client: Client,
  query: ReadQuery<'/v2/contracts'>,
): Listing<Schema<'ContractSummary'>> =>
  listing(client, '/v2/contracts', {}, { ...query, order: 'newest' }, byId)

export const contractReading = (client: Client, id: string): Reading<Schema<'Contract'>> =>
  reading(client, '/v2/contracts/{contract_id}', { contract_id: id }, {}, { staleMs: RESOURCE_MS })

/** All lines that a contract ever had. */
export const contractLineListing = (client: Client, id: string): Listing<Schema<'ContractLine'>> =>
  listing(client, '/v2/contracts/{contract_id}/lines', { contract_id: id }, {}, byId)
