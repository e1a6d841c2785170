import type { Client } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { priceListing, productListing, rateCardListing } from '../../api/queries/catalogue.ts'
import { useReadAll } from '../../api/use-read.ts'
import { type Source, useSources } from '../../parts/sources.ts'

/** What the ids of a contract stand for. An id that is not read yet stands for itself. */
export interface Names {
  product(id: string): string
  rateCard(id: string): string
  price(id: string): Schema<'Price'> | undefined
  source(id: string): Source
  /** The decimal places of a currency, where they are known. */
  places(currency: string): number | null | undefined
}

/** A currency is its own unit. */
function unknown(id: string): Source {
  const isMetric = id.startsWith('metric_')
  return { id, label: id, unit: isMetric ? '' : id, places: undefined, isMetric, isArchived: false }
}

/** Reads the names of products, rate cards, prices, metrics and currencies. */
export function useNames(client: Client): Names {
  const products = named(useReadAll(productListing(client)).data)
  const cards = named(useReadAll(rateCardListing(client)).data)
  const prices = useReadAll(priceListing(client)).data
  const sources = useSources(client).data
  return {
    product: (id) => products.get(id) ?? id,
    rateCard: (id) => cards.get(id) ?? id,
    price: (id) => prices?.find((price) => price.id === id),
    source: (id) => sources?.find(id) ?? unknown(id),
    places: (currency) => sources?.find(currency).places,
  }
}

const named = (rows: readonly { id: string; name: string }[] = []): Map<string, string> =>
  new Map(rows.map(({ id, name }) => [id, name]))

/** What a contract is called: its own name, or otherwise its external id or how its id begins. */
export const contractName = ({
  id,
  name,
  external_id: externalId,
}: Pick<Schema<'ContractSummary'>, 'id' | 'name' | 'external_id'>): string =>
  name ?? externalId ?? `Contract ${id.slice(0, 8)}`
