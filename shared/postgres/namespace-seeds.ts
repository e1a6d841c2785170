import type { Queryable } from './core/pool.ts'

/** A product with its prices, and a contract for it. */
export interface SeededCatalogue {
  productIds: readonly string[]
  priceIds: readonly string[]
  rateCardId: string
  contractId: string
}

/** The resources that a seed has made in a namespace, in order of creation. */
export interface SeededResources extends SeededCatalogue {
  customerIds: readonly string[]
  accountIds: readonly string[]
  metricIds: readonly string[]
  grantIds: readonly string[]
}

export interface NamespaceSeed {
  /** The Unix second up to which the seed made usage. */
  upTo: number
  resources: SeededResources
}

const FIND = 'SELECT up_to, made FROM namespace_seeds WHERE namespace_id = $1 AND seed = $2'
const INSERT = 'INSERT INTO namespace_seeds (namespace_id, seed, up_to, made) VALUES ($1, $2, $3, $4)'

/** The resources that seeds have made in a namespace. */
export const namespaceSeedRepository = (db: Queryable) => ({
  async find(namespaceId: string, seed: number): Promise<NamespaceSeed | undefined> {
    const { rows } = await db.query<{ up_to: Date; made: SeededResources }>(FIND, [namespaceId, seed])
    return rows.map(({ up_to: upTo, made }) => ({ upTo: upTo.getTime() / 1_000, resources: made }))[0]
  },

  async insert(namespaceId: string, seed: number, { upTo, resources }: NamespaceSeed): Promise<void> {
    await db.query(INSERT, [namespaceId, seed, new Date(upTo * 1_000), JSON.stringify(resources)])
  },
})
