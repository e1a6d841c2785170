import type { Client } from '../client.ts'
import type { Schema } from '../contract.ts'
import { byId, type Listing, listing } from './reading.ts'

/** All products of the company, also archived ones. */
export const productListing = (client: Client): Listing<Schema<'Product'>> =>
  listing(client, '/v2/products', {}, {}, byId)

/** All prices of the company, also archived ones. */
export const priceListing = (client: Client): Listing<Schema<'Price'>> =>
  listing(client, '/v2/prices', {}, {}, byId)

/** All rate cards of the company, also archived ones. */
export const rateCardListing = (client: Client): Listing<Schema<'RateCardInList'>> =>
  listing(client, '/v2/rate-cards', {}, {}, byId)
