import type { Client } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { priceListing, productListing } from '../../api/queries/catalogue.ts'
import { type Read, useReadAll } from '../../api/use-read.ts'

/** All products and prices of a company, which are few. */
export interface Catalogue {
  products: readonly Schema<'Product'>[]
  prices: readonly Schema<'Price'>[]
  /** The name of a product; its id while it is not known. */
  nameOf: (productId: string) => string
  priceOf: (priceId: string) => Schema<'Price'> | undefined
}

/** Reads all products and prices. */
export function useCatalogue(client: Client): Read<Catalogue> {
  const products = useReadAll(productListing(client))
  const prices = useReadAll(priceListing(client))
  return {
    ...products,
    error: products.error ?? prices.error,
    isFetching: products.isFetching || prices.isFetching,
    again: () => {
      products.again()
      prices.again()
    },
    data:
      products.data === undefined || prices.data === undefined
        ? undefined
        : catalogueOf(products.data, prices.data),
  }
}

function catalogueOf(products: readonly Schema<'Product'>[], prices: readonly Schema<'Price'>[]): Catalogue {
  const names = new Map(products.map(({ id, name }) => [id, name]))
  const byId = new Map(prices.map((price) => [price.id, price]))
  return { products, prices, nameOf: (id) => names.get(id) ?? id, priceOf: (id) => byId.get(id) }
}
