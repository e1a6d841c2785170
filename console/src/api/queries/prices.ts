import type { Client } from '../client.ts'
import type { ReadPath, ReadQuery, Schema } from '../contract.ts'
import { byId, type Listing, listing, type Reading, reading, RESOURCE_MS } from './reading.ts'

/** What changes with a product. */
export const PRODUCT_CHANGES = ['/v2/products'] as const satisfies readonly ReadPath[]

/** What changes with a price. */
export const PRICE_CHANGES = ['/v2/prices', '/v2/prices/{price_id}'] as const satisfies readonly ReadPath[]

/** What changes with a rate card. Simulations of it are kept beside the card itself. */
export const CARD_CHANGES = [
  '/v2/rate-cards',
  '/v2/rate-cards/{rate_card_id}',
  '/v2/rate-cards/{rate_card_id}/rates',
] as const satisfies readonly ReadPath[]

export const priceReading = (client: Client, id: string): Reading<Schema<'Price'>> =>
  reading(client, '/v2/prices/{price_id}', { price_id: id }, {}, { staleMs: RESOURCE_MS })

export const cardReading = (client: Client, id: string): Reading<Schema<'RateCard'>> =>
  reading(client, '/v2/rate-cards/{rate_card_id}', { rate_card_id: id }, {}, { staleMs: RESOURCE_MS })

/** All rates that the card ever had, or those in force at one second. */
export const rateListing = (
  client: Client,
  id: string,
  query: ReadQuery<'/v2/rate-cards/{rate_card_id}/rates'>,
): Listing<Schema<'Rate'>> =>
  listing(client, '/v2/rate-cards/{rate_card_id}/rates', { rate_card_id: id }, query, byId)

export type SimulationBody = Schema<'NewSimulation'>

const simulationRequest = (cardId: string, body: SimulationBody) =>
  ({ method: 'POST', target: `/v2/rate-cards/${encodeURIComponent(cardId)}/simulate`, body }) as const

/** What accounts would pay. It is a POST that writes nothing. Its answer stays until the card changes. */
export function simulationReading(
  client: Client,
  cardId: string,
  body: SimulationBody,
): Reading<Schema<'Simulation'>> {
  const request = simulationRequest(cardId, body)
  return {
    key: [client.caller.company.id, '/v2/rate-cards/{rate_card_id}', request.target, JSON.stringify(body)],
    request,
    staleMs: Infinity,
    fetch: async (signal) => (await client.call(request, signal)) as Schema<'Simulation'>,
  }
}

/** All accounts of a simulation, page by page. @param first the first page, which is there already */
export const simulatedAccounts = (
  client: Client,
  cardId: string,
  body: SimulationBody,
  first: Schema<'Simulation'>,
): Pick<Listing<Schema<'SimulatedAccount'>>, 'fetchPage' | 'idOf'> => ({
  idOf: ({ account_id: id }) => id,
  fetchPage: async (after, signal) => {
    if (after === undefined) return first
    const request = simulationRequest(cardId, { ...body, starting_after: after })
    return (await client.call(request, signal)) as Schema<'Simulation'>
  },
})
