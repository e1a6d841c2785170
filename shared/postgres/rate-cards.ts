import type { Rate } from '../domain/billing/rate.ts'
import type { RateCard } from '../domain/billing/rate-card.ts'
import type { Changes } from '../domain/changes.ts'
import type { PageRequest } from '../domain/page.ts'
import type { Queryable } from './core/pool.ts'
import {
  findingAndArchiving,
  findRow,
  firstRow,
  insertInOrder,
  listRows,
  listRowsByIds,
  type ResourceTable,
  touchRow,
  updateRow,
} from './core/resource-table.ts'
import { rateRepository } from './rates.ts'

export type NewRateCard = Pick<RateCard, 'id' | 'name' | 'currency' | 'description' | 'externalId'>

const RATE_CARDS: ResourceTable<RateCard> = {
  name: 'rate_cards',
  noun: 'rate card',
  columns: {
    id: 'rate_card_id',
    name: 'name',
    currency: 'currency',
    description: 'description',
    externalId: 'external_id',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
    archivedAt: 'archived_at',
  },
}
const IS_FOLLOWED = `
  SELECT EXISTS (SELECT 1 FROM contract_lines WHERE namespace_id = $1 AND rate_card_id = $2) AS "isFollowed"`

/** Stores rate cards; their rates are in rateRepository. */
export const rateCardRepository = (db: Queryable) => ({
  ...findingAndArchiving(db, RATE_CARDS),

  /** Inserts a rate card, within a transaction. @throws DomainError conflict when another card has the external id */
  insert: (namespaceId: string, card: NewRateCard) => insertInOrder(db, RATE_CARDS, namespaceId, card),

  /**
   * Finds and locks a card, within a transaction. Until the transaction ends, no other transaction changes the card's
   * rates or makes a contract follow the card.
   */
  lock: (namespaceId: string, rateCardId: string) =>
    findRow(db, RATE_CARDS, namespaceId, rateCardId, 'FOR UPDATE'),

  /**
   * Lists and locks the cards with these ids, for a transaction that makes a contract follow them. No card of these
   * changes until the transaction ends. Other transactions may share the lock. Unknown ids are absent.
   */
  share: (namespaceId: string, rateCardIds: readonly string[]) =>
    listRowsByIds(db, RATE_CARDS, namespaceId, rateCardIds, 'FOR SHARE'),

  /** Whether a contract has, had or will have a line with this card. */
  async isFollowed(namespaceId: string, rateCardId: string): Promise<boolean> {
    const row = await firstRow<{ isFollowed: boolean }>(db, IS_FOLLOWED, [namespaceId, rateCardId])
    return row?.isFollowed === true
  },

  /** Records that rates of the card have changed. @returns the card, undefined when there is none */
  touch: (namespaceId: string, rateCardId: string) => touchRow(db, RATE_CARDS, namespaceId, rateCardId),

  /** @throws DomainError unprocessable when another card has the external id */
  update: (
    namespaceId: string,
    rateCardId: string,
    changes: Changes<Pick<RateCard, 'name' | 'description' | 'externalId'>>,
  ) => updateRow(db, RATE_CARDS, namespaceId, rateCardId, changes),

  /** @param externalId limits the list to the card with this external id; undefined for all */
  list: (namespaceId: string, externalId: string | undefined, page: PageRequest) =>
    listRows(db, RATE_CARDS, namespaceId, { external_id: externalId }, page),

  /**
   * Lists all rates that these cards ever had, in order of creation, in one query. A card without rates has an empty
   * list.
   */
  listRatesOf: (namespaceId: string, rateCardIds: readonly string[]): Promise<Map<string, Rate[]>> =>
    rateRepository(db).listOfCards(namespaceId, rateCardIds),
})
