import type { Filter, Rate } from '../domain/billing/rate.ts'
import type { RateRecord } from '../domain/billing/rate-card.ts'
import { scopeDigest } from '../domain/billing/scope.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import type { Aggregation } from '../domain/usage-aggregate.ts'
import { isMetric } from '../domain/usage-source.ts'
import { DomainError } from '../errors/domain-error.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { isExclusionViolation } from './core/violations.ts'

interface RateRow {
  rate_id: string
  rate_card_id: string
  metric_id: string | null
  currency: string | null
  aggregation: Aggregation
  filters: Filter[]
  group_by: string | null
  starts_at: Date
  ends_at: Date | null
  created_at: Date
  product_id: string
  /** Sorted by code point. null comes last and means all other values. */
  price_values: (string | null)[]
  /** The price of each value. */
  price_ids: string[]
}

// Why prices are read as JSON: a card may have 2,000 prices. If each were a row that repeats the whole rate, the rows
// would make almost a megabyte.
const SELECT = `
  SELECT r.rate_id, r.rate_card_id, r.metric_id, r.currency, r.aggregation, r.filters, r.group_by, r.starts_at, r.ends_at,
    r.created_at, p.price_values, p.price_ids,
    (SELECT product_id FROM prices WHERE namespace_id = $1 AND price_id = p.first_price_id) AS product_id
  FROM rates r CROSS JOIN LATERAL (
    SELECT min(price_id) AS first_price_id,
      json_agg(value ORDER BY value) AS price_values, json_agg(price_id ORDER BY value) AS price_ids
    FROM rate_prices WHERE namespace_id = $1 AND rate_id = r.rate_id
  ) p
  WHERE r.namespace_id = $1`
// Each rate is created a microsecond after the one before, so that lists keep the given order. All new rates are later
// than the other rates of the card. So a reader that follows the list misses none, even after a clock was set back. The
// card stays locked until the transaction ends.
const INSERT = `
  INSERT INTO rates (namespace_id, rate_id, rate_card_id, metric_id, currency, aggregation, filters, group_by, scope_digest,
    starts_at, ends_at, created_at)
  SELECT $1, r.rate_id, $2, r.metric_id, r.currency, r.aggregation, r.filters, r.group_by, r.scope_digest,
    to_timestamp(r.starts_at), to_timestamp(r.ends_at), last.at + r.nth * interval '1 microsecond'
  FROM jsonb_to_recordset($3) AS r (nth integer, rate_id text, metric_id text, currency text, aggregation text,
      filters jsonb, group_by text, scope_digest text, starts_at float8, ends_at float8),
    (SELECT greatest(clock_timestamp(), max(created_at)) AS at FROM rates WHERE namespace_id = $1 AND rate_card_id = $2) last`
const INSERT_PRICES = `
  INSERT INTO rate_prices (namespace_id, rate_id, value, price_id)
  SELECT $1, rate_id, value, price_id FROM unnest($2::text[], $3::text[], $4::text[]) AS p (rate_id, value, price_id)`
const END = `
  UPDATE rates SET ends_at = to_timestamp($4)
  WHERE namespace_id = $1 AND rate_card_id = $2 AND rate_id = ANY ($3)`
const LIST_NOT_ENDED = `${SELECT}
    AND r.rate_card_id = $2 AND (r.ends_at IS NULL OR r.ends_at > to_timestamp($3))
  ORDER BY r.created_at, r.rate_id`
const LIST_OF_CARDS = `${SELECT} AND r.rate_card_id = ANY ($2) ORDER BY r.created_at, r.rate_id`
const HAS = 'SELECT FROM rates WHERE namespace_id = $1 AND rate_card_id = $2 AND rate_id = $3'
const LIST = `${SELECT} AND r.rate_card_id = $2
    AND ($4::float8 IS NULL OR r.starts_at <= to_timestamp($4) AND (r.ends_at IS NULL OR r.ends_at > to_timestamp($4)))
    AND ($5::text IS NULL OR (r.created_at, r.rate_id) >
      (SELECT created_at, rate_id FROM rates WHERE namespace_id = $1 AND rate_id = $5))
  ORDER BY r.created_at, r.rate_id LIMIT $3`

/** Rates of cards. All times are Unix seconds. */
export const rateRepository = (db: Queryable) => ({
  /**
   * Adds rates to a card that the transaction has locked or made. They must not overlap rates of the card.
   *
   * @throws DomainError unprocessable when a new rate has the same conditions as another rate of the card at the same
   *   time. A caller that locks the card and checks with findOverlap never gets this error.
   */
  async insert(namespaceId: string, rateCardId: string, rates: readonly Rate[]): Promise<void> {
    try {
      await db.query(INSERT, [namespaceId, rateCardId, JSON.stringify(rates.map(rowOfRate))])
    } catch (err) {
      if (isExclusionViolation(err, 'rates_equal'))
        throw new DomainError(
          'unprocessable',
          'two rates of the card have the same conditions at the same time',
          { cause: err },
        )
      throw err
    }
    const prices = rates.flatMap((rate) => pricesOfRate(rate).map((price) => ({ ...price, rateId: rate.id })))
    await db.query(INSERT_PRICES, [
      namespaceId,
      prices.map(({ rateId }) => rateId),
      prices.map(({ value }) => value),
      prices.map(({ priceId }) => priceId),
    ])
  },

  /** Ends rates of a card that the transaction has locked. */
  async end(
    namespaceId: string,
    rateCardId: string,
    rateIds: readonly string[],
    endsAt: number,
  ): Promise<void> {
    await db.query(END, [namespaceId, rateCardId, rateIds, endsAt])
  },

  /** Lists the rates of a card that have not ended at `at`, in order of creation. Future rates are included. */
  async listNotEnded(namespaceId: string, rateCardId: string, at: number): Promise<RateRecord[]> {
    const { rows } = await db.query<RateRow>(LIST_NOT_ENDED, [namespaceId, rateCardId, at])
    return rows.map(rateFromRow)
  },

  /** Lists all rates that each of these cards ever had, in order of creation. */
  async listOfCards(namespaceId: string, rateCardIds: readonly string[]): Promise<Map<string, RateRecord[]>> {
    const { rows } = await db.query<RateRow>(LIST_OF_CARDS, [namespaceId, rateCardIds])
    const rates = new Map(rateCardIds.map((id): [string, RateRecord[]] => [id, []]))
    for (const row of rows) rates.get(row.rate_card_id)?.push(rateFromRow(row))
    return rates
  },

  /**
   * Lists all rates that a card ever had, in order of creation.
   *
   * @param at limits the list to rates in force at this second; undefined for all
   * @throws DomainError malformed when startingAfter is no rate of the card
   */
  async list(
    namespaceId: string,
    rateCardId: string,
    at: number | undefined,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<RateRecord>> {
    if (startingAfter !== undefined) {
      const { rows } = await db.query(HAS, [namespaceId, rateCardId, startingAfter])
      if (rows.length === 0) throw unknownCursor()
    }
    await readInIndexOrder(db)
    const values = [namespaceId, rateCardId, limit + 1, at ?? null, startingAfter ?? null]
    const { rows } = await db.query<RateRow>(LIST, values)
    return pageOf(rows.map(rateFromRow), limit)
  },
})

const rowOfRate = (rate: Rate, index: number) => ({
  nth: index + 1,
  rate_id: rate.id,
  ...(rate.source !== null && { [isMetric(rate.source) ? 'metric_id' : 'currency']: rate.source }),
  aggregation: rate.aggregation,
  filters: rate.filters,
  group_by: rate.groupBy,
  scope_digest: scopeDigest(rate),
  starts_at: rate.startsAt,
  ends_at: rate.endsAt,
})

const pricesOfRate = ({ prices, priceId }: Rate): { value: string | null; priceId: string }[] => [
  ...prices,
  ...(priceId === null ? [] : [{ value: null, priceId }]),
]

function rateFromRow(row: RateRow): RateRecord {
  const { price_values: values, price_ids: ids } = row
  const listed = values.map((value, nth) => ({ value, priceId: ids[nth] ?? '' }))
  return {
    id: row.rate_id,
    source: row.metric_id ?? row.currency,
    aggregation: row.aggregation,
    filters: row.filters,
    groupBy: row.group_by,
    prices: listed.flatMap(({ value, priceId }) => (value === null ? [] : [{ value, priceId }])),
    priceId: listed.find(({ value }) => value === null)?.priceId ?? null,
    startsAt: row.starts_at.getTime() / 1_000,
    endsAt: row.ends_at === null ? null : row.ends_at.getTime() / 1_000,
    productId: row.product_id,
    createdAt: row.created_at,
  }
}
