import type { Rate } from '../domain/billing/rate.ts'
import { isUnchanged, type Changes } from '../domain/changes.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from '../domain/page.ts'
import type { RateCard } from '../domain/rate-card.ts'
import { DomainError, type ErrorCode } from '../errors/domain-error.ts'
import { lockCreation } from './locks/creation-lock.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { setOnce, unset } from './core/set-once.ts'
import { isUniqueViolation } from './core/violations.ts'
import { rateRepository } from './rates.ts'

export type NewRateCard = Pick<RateCard, 'id' | 'name' | 'currency' | 'description' | 'externalId'>

export type RateCardChanges = Changes<Pick<RateCard, 'name' | 'description' | 'externalId'>>

interface RateCardRow {
  rate_card_id: string
  name: string
  currency: string
  description: string | null
  external_id: string | null
  created_at: Date
  updated_at: Date
  archived_at: Date | null
}

const COLUMNS = 'rate_card_id, name, currency, description, external_id, created_at, updated_at, archived_at'
const INSERT = `
  INSERT INTO rate_cards (namespace_id, rate_card_id, name, currency, description, external_id, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, $6, at, at FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `SELECT ${COLUMNS} FROM rate_cards WHERE namespace_id = $1 AND rate_card_id = $2`
const LOCK = `${FIND} FOR UPDATE`
// In order, so that two who share the same cards wait for each other at most in turn.
const SHARE = `
  SELECT ${COLUMNS} FROM rate_cards WHERE namespace_id = $1 AND rate_card_id = ANY ($2)
  ORDER BY rate_card_id FOR SHARE`
const UPDATE = `
  UPDATE rate_cards AS c SET
    (name, description, external_id) =
      (SELECT name, description, external_id FROM jsonb_populate_record(c, $3)),
    updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND rate_card_id = $2
  RETURNING ${COLUMNS}`
const TOUCH = `
  UPDATE rate_cards SET updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND rate_card_id = $2
  RETURNING ${COLUMNS}`
const ARCHIVE = `
  UPDATE rate_cards SET ${setOnce('archived_at')}
  WHERE namespace_id = $1 AND rate_card_id = $2
  RETURNING ${COLUMNS}`
const UNARCHIVE = `
  UPDATE rate_cards SET ${unset('archived_at')}
  WHERE namespace_id = $1 AND rate_card_id = $2
  RETURNING ${COLUMNS}`
const IS_FOLLOWED = `
  SELECT EXISTS (SELECT 1 FROM contract_lines WHERE namespace_id = $1 AND rate_card_id = $2) AS is_followed`
const LIST = `
  SELECT ${COLUMNS} FROM rate_cards WHERE namespace_id = $1
    AND ($3::text IS NULL OR external_id = $3)
    AND ($4::text IS NULL OR (created_at, rate_card_id) >
      (SELECT created_at, rate_card_id FROM rate_cards WHERE namespace_id = $1 AND rate_card_id = $4))
  ORDER BY created_at, rate_card_id LIMIT $2`

/** Rate cards; their rates are in rateRepository. */
export const rateCardRepository = (db: Queryable) => ({
  /**
   * Within a transaction: cards of a namespace are made one after the other, so that a list can be kept up with.
   *
   * @throws DomainError conflict when another card has the external id
   */
  async insert(namespaceId: string, card: NewRateCard): Promise<RateCard> {
    await lockCreation(db, 'rate_cards', namespaceId)
    const { id, name, currency, description, externalId } = card
    try {
      const values = [namespaceId, id, name, currency, description, externalId]
      const { rows } = await db.query<RateCardRow>(INSERT, values)
      return rows.map(rateCardFromRow)[0] as RateCard
    } catch (err) {
      throw explain(err, 'conflict')
    }
  },

  find: (namespaceId: string, rateCardId: string) => findOne(db, FIND, [namespaceId, rateCardId]),

  /** The same within a transaction, until whose end nobody else changes its rates, nor begins to follow it. */
  lock: (namespaceId: string, rateCardId: string) => findOne(db, LOCK, [namespaceId, rateCardId]),

  /**
   * The cards of these ids, by id, within a transaction, until whose end none of them changes: for who begins to follow
   * them. Others may share them too; ids that are none are absent.
   */
  async share(namespaceId: string, rateCardIds: readonly string[]): Promise<RateCard[]> {
    const { rows } = await db.query<RateCardRow>(SHARE, [namespaceId, rateCardIds])
    return rows.map(rateCardFromRow)
  },

  /** Whether a line of a contract follows the card, ever did or is going to. */
  async isFollowed(namespaceId: string, rateCardId: string): Promise<boolean> {
    const { rows } = await db.query<{ is_followed: boolean }>(IS_FOLLOWED, [namespaceId, rateCardId])
    return rows[0]?.is_followed === true
  },

  /** Notes that rates of the card have changed. @returns the card, undefined when there is none */
  touch: (namespaceId: string, rateCardId: string) => findOne(db, TOUCH, [namespaceId, rateCardId]),

  /**
   * Changes the fields that are named.
   *
   * @returns the card, undefined when there is none
   * @throws DomainError unprocessable when another card has the external id
   */
  async update(
    namespaceId: string,
    rateCardId: string,
    changes: RateCardChanges,
  ): Promise<RateCard | undefined> {
    if (isUnchanged(changes)) return this.find(namespaceId, rateCardId)
    const { name, description, externalId } = changes
    const columns = { name, description, external_id: externalId }
    try {
      return await findOne(db, UPDATE, [namespaceId, rateCardId, JSON.stringify(columns)])
    } catch (err) {
      throw explain(err, 'unprocessable')
    }
  },

  /** Archiving again keeps the first time. @returns the card, undefined when there is none */
  archive: (namespaceId: string, rateCardId: string) => findOne(db, ARCHIVE, [namespaceId, rateCardId]),

  /** @returns the card, undefined when there is none */
  unarchive: (namespaceId: string, rateCardId: string) => findOne(db, UNARCHIVE, [namespaceId, rateCardId]),

  /**
   * In order of creation.
   *
   * @param externalId only the card that has this one
   * @throws DomainError malformed when startingAfter is no card of the namespace
   */
  async list(
    namespaceId: string,
    externalId: string | undefined,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<RateCard>> {
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const values = [namespaceId, limit + 1, externalId ?? null, startingAfter ?? null]
    const { rows } = await db.query<RateCardRow>(LIST, values)
    return pageOf(rows.map(rateCardFromRow), limit)
  },

  /** All rates ever of these cards, in order of creation, in one query; a card without rates has an empty list. */
  listRatesOf: (namespaceId: string, rateCardIds: readonly string[]): Promise<Map<string, Rate[]>> =>
    rateRepository(db).listOfCards(namespaceId, rateCardIds),
})

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<RateCard | undefined> {
  const { rows } = await db.query<RateCardRow>(text, values)
  return rows.map(rateCardFromRow)[0]
}

/** @param taken what it is when another card has the external id */
function explain(err: unknown, taken: ErrorCode): unknown {
  if (isUniqueViolation(err, 'rate_cards_external_id'))
    return new DomainError(taken, 'external_id: another rate card has it', { cause: err })
  return err
}

const rateCardFromRow = (row: RateCardRow): RateCard => ({
  id: row.rate_card_id,
  name: row.name,
  currency: row.currency,
  description: row.description,
  externalId: row.external_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  archivedAt: row.archived_at,
})
