import type { Client } from '../client.ts'
import type { Schema } from '../contract.ts'
import { byId, type Listing, listing } from './reading.ts'

export const metricListing = (client: Client): Listing<Schema<'Metric'>> =>
  listing(client, '/v2/metrics', {}, {}, byId)

export const currencyListing = (client: Client): Listing<Schema<'ReportedCurrency'>> =>
  listing(client, '/v2/currencies', {}, {}, ({ currency }) => currency)
