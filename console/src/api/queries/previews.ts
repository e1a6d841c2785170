import type { ApiRequest } from '../../format/curl.ts'
import type { Client } from '../client.ts'
import type { ReadQuery, Schema } from '../contract.ts'
import { FRESH_MS, type Listing, listing, type Reading, RESOURCE_MS } from './reading.ts'

const PATH = '/v2/invoice-previews'

/** What a preview of one contract is asked for. It is a POST because it has a body; it writes nothing. */
export const previewReading = (
  client: Client,
  body: Schema<'NewInvoicePreview'>,
): Reading<Schema<'InvoicePreview'>> => {
  const request: ApiRequest = { method: 'POST', target: PATH, body }
  return {
    key: [client.caller.company.id, PATH, JSON.stringify(body)],
    request,
    staleMs: staleMsOf(body),
    fetch: async (signal) => (await client.call(request, signal)) as Schema<'InvoicePreview'>,
  }
}

/** A preview, with what was asked for: a page may ask for something else by then. */
interface AnsweredPreview<Asked> {
  preview: Schema<'InvoicePreview'>
  asked: Asked
}

/** A preview of one contract, with its question. @param asked what the body is made of */
export function answeredPreviewReading<Asked>(
  client: Client,
  body: Schema<'NewInvoicePreview'>,
  asked: Asked,
): Reading<AnsweredPreview<Asked>> {
  const { key, fetch, ...rest } = previewReading(client, body)
  return {
    ...rest,
    key: [...key, 'answered'],
    fetch: async (signal) => ({ preview: await fetch(signal), asked }),
  }
}

/** The previews of all contracts that are in force at a second, without their lines. */
export const previewListing = (
  client: Client,
  query: ReadQuery<'/v2/invoice-previews'>,
): Listing<Schema<'InvoiceSummary'>> => listing(client, PATH, {}, query, ({ contract_id: id }) => id)

/** What was known at a second stays. What reads events one by one takes a while, so it is not asked each few seconds. */
function staleMsOf({ known_at: knownAt, difference_since: since }: Schema<'NewInvoicePreview'>): number {
  if (knownAt !== undefined && knownAt !== null) return Infinity
  return since === undefined || since === null ? FRESH_MS : RESOURCE_MS
}
