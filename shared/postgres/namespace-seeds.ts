import type { Queryable } from './core/pool.ts'

/** What there is to buy, and a contract about it. */
export interface SeededCatalogue {
  productIds: readonly string[]
  priceIds: readonly string[]
  rateCardId: string
  contractId: string
}

/** What a seed has made in a namespace, in the order it was made in. */
export interface SeededResources extends SeededCatalogue {
  customerIds: readonly string[]
  accountIds: readonly string[]
  metricIds: readonly string[]
  grantIds: readonly string[]
}

export interface NamespaceSeed {
  /** Unix second up to which its usage goes. */
  upTo: number
  resources: SeededResources
}

const FIND = 'SELECT up_to, made FROM namespace_seeds WHERE namespace_id = $1 AND seed = $2'
const INSERT = 'INSERT INTO namespace_seeds (namespace_id, seed, up_to, made) VALUES ($1, $2, $3, $4)'

/** What was made up in a namespace, by its seeds. */
export const namespaceSeedRepository = (db: Queryable) => ({
  async find(namespaceId: string, seed: number): Promise<NamespaceSeed | undefined> {
    const { rows } = await db.query<{ up_to: Date; made: SeededResources }>(FIND, [namespaceId, seed])
    return rows.map(({ up_to: upTo, made }) => ({ upTo: upTo.getTime() / 1_000, resources: made }))[0]
  },

  async insert(namespaceId: string, seed: number, { upTo, resources }: NamespaceSeed): Promise<void> {
    await db.query(INSERT, [namespaceId, seed, new Date(upTo * 1_000), JSON.stringify(resources)])
  },
})
