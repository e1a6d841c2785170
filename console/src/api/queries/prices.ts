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
  '/v2/invoice-previews',
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

/** What a card is asked. */
export interface SimulationQuestion {
  cardId: string
  body: SimulationBody
  /** Tells when it was asked. Asked again, it is read again, although its body is the same. */
  asked: string
}

const simulationRequest = ({ cardId }: SimulationQuestion, body: SimulationBody) =>
  ({ method: 'POST', target: `/v2/rate-cards/${encodeURIComponent(cardId)}/simulate`, body }) as const

/** What accounts would pay. It is a POST that writes nothing. Its answer stays until the card changes. */
export function simulationReading(
  client: Client,
  question: SimulationQuestion,
): Reading<Schema<'Simulation'>> {
  const { body, asked } = question
  const request = simulationRequest(question, body)
  const company = client.caller.company.id
  return {
    key: [company, '/v2/rate-cards/{rate_card_id}', request.target, JSON.stringify(body), asked],
    request,
    staleMs: Infinity,
    fetch: async (signal) => (await client.call(request, signal)) as Schema<'Simulation'>,
  }
}

/** All accounts of a simulation, page by page, the first one too: a page that was read earlier has other usage. */
export const simulatedAccounts = (
  client: Client,
  question: SimulationQuestion,
): Pick<Listing<Schema<'SimulatedAccount'>>, 'fetchPage' | 'idOf'> => ({
  idOf: ({ account_id: id }) => id,
  fetchPage: async (after, signal) => {
    const next = after === undefined ? {} : { starting_after: after }
    const request = simulationRequest(question, { ...question.body, ...next })
    return (await client.call(request, signal)) as Schema<'Simulation'>
  },
})
