import { amountFromDatabase, formatAmount } from '../amount/amount.ts'
import type { CardLine, ContractLine, PriceOverride } from '../domain/billing/contract.ts'
import type { NewLine, StoredLine } from '../domain/billing/stored-contract.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import type { TimeRange } from '../domain/time-range.ts'
import { isMetric } from '../domain/usage-source.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'

interface LineRow {
  contract_line_id: string
  contract_id: string
  starts_at: Date
  ends_at: Date | null
  description: string | null
  rate_card_id: string | null
  price_id: string | null
  quantity: string | null
  discount_percent: string | null
  minimum_amount: string | null
  credit_amount: string | null
  credit_metric_id: string | null
  credit_currency: string | null
  credit_expires: 'never' | 'period_end' | null
  created_at: Date
  overrides: OverrideRow[] | null
}

interface OverrideRow {
  product_id: string
  has_value: boolean
  value: string | null
  price_id: string
}

const COLUMNS = `contract_line_id, contract_id, starts_at, ends_at, description, rate_card_id, price_id, quantity,
  discount_percent, minimum_amount, credit_amount, credit_metric_id, credit_currency, credit_expires, created_at,
  CASE WHEN rate_card_id IS NOT NULL THEN (
    SELECT jsonb_agg(to_jsonb(o) ORDER BY o.nth) FROM contract_line_overrides AS o
    WHERE o.namespace_id = $1 AND o.contract_line_id = l.contract_line_id) END AS overrides`
// The lines of one request are created a microsecond apart, so that lists have them in the given order. They are also
// later than all other lines of the contract, even when a clock was set back.
const INSERT = `
  INSERT INTO contract_lines (namespace_id, contract_line_id, contract_id, account_id, starts_at, ends_at, description,
    rate_card_id, price_id, quantity, discount_percent, minimum_amount, credit_amount, credit_metric_id, credit_currency,
    credit_expires, created_at)
  SELECT $1, n.contract_line_id, $2, $3, to_timestamp(n.starts_at), to_timestamp(n.ends_at), n.description, n.rate_card_id,
    n.price_id, n.quantity, n.discount_percent, n.minimum_amount, n.credit_amount, n.credit_metric_id, n.credit_currency,
    n.credit_expires, last.at + n.nth * interval '1 microsecond'
  FROM jsonb_to_recordset($4) AS n (nth integer, contract_line_id text, starts_at float8, ends_at float8, description text,
    rate_card_id text, price_id text, quantity numeric, discount_percent numeric, minimum_amount numeric,
    credit_amount numeric, credit_metric_id text, credit_currency text, credit_expires text),
    (SELECT greatest(clock_timestamp(), max(created_at)) AS at FROM contract_lines
      WHERE namespace_id = $1 AND contract_id = $2) AS last`
const INSERT_OVERRIDES = `
  INSERT INTO contract_line_overrides (namespace_id, contract_line_id, nth, product_id, has_value, value, price_id)
  SELECT $1, n.contract_line_id, n.nth, n.product_id, n.has_value, n.value, n.price_id
  FROM jsonb_to_recordset($2) AS n (contract_line_id text, nth integer, product_id text, has_value boolean, value text,
    price_id text)`
const END = `
  UPDATE contract_lines SET ends_at = to_timestamp($4)
  WHERE namespace_id = $1 AND contract_id = $2 AND contract_line_id = ANY ($3)`
const LIST_OF = `
  SELECT ${COLUMNS} FROM contract_lines AS l WHERE namespace_id = $1 AND contract_id = ANY ($2)
  ORDER BY created_at, contract_line_id`
const LIST_FOLLOWERS = `
  SELECT DISTINCT account_id FROM contract_lines
  WHERE namespace_id = $1 AND rate_card_id IS NOT NULL AND during && tstzrange(to_timestamp($2), to_timestamp($3))
  ORDER BY account_id LIMIT $4`
const LIST_FOLLOWERS_IN_OTHERS = `
  SELECT l.account_id FROM contract_lines AS l JOIN rate_cards USING (namespace_id, rate_card_id)
  WHERE l.namespace_id = $1 AND l.during @> to_timestamp($2) AND currency <> $3`
const LIST_FOLLOWED = `
  SELECT account_id, ${COLUMNS} FROM contract_lines AS l
  WHERE namespace_id = $1 AND account_id = ANY ($2) AND rate_card_id IS NOT NULL AND during @> to_timestamp($3)`
const EXISTS = `
  SELECT FROM contract_lines WHERE namespace_id = $1 AND contract_id = $2 AND contract_line_id = $3`
// PostgreSQL plans this statement for each call, and leaves out the condition when $4 is null.
const LIST = `
  SELECT ${COLUMNS} FROM contract_lines AS l WHERE namespace_id = $1 AND contract_id = $2
    AND ($4::text IS NULL OR (created_at, contract_line_id) >
      (SELECT created_at, contract_line_id FROM contract_lines WHERE namespace_id = $1 AND contract_line_id = $4))
  ORDER BY created_at, contract_line_id LIMIT $3`

/** Lines of contracts. To change them, the caller must have locked the contract: see contractRepository. */
export const contractLineRepository = (db: Queryable) => ({
  /**
   * Inserts any number of lines, in two statements at most.
   *
   * @throws DatabaseError of the exclusion contract_lines_one_card when the account would follow two cards at the same
   *   time
   */
  async insert(
    namespaceId: string,
    { id: contractId, accountId }: { id: string; accountId: string },
    lines: readonly NewLine[],
  ): Promise<void> {
    if (lines.length === 0) return
    await db.query(INSERT, [namespaceId, contractId, accountId, JSON.stringify(lines.map(lineToColumns))])
    const overrides = lines.flatMap((line) =>
      line.kind === 'card' ? line.priceOverrides.map((one, nth) => overrideToColumns(line.id, nth, one)) : [],
    )
    if (overrides.length > 0) await db.query(INSERT_OVERRIDES, [namespaceId, JSON.stringify(overrides)])
  },

  /**
   * Ends lines.
   * @param at in Unix seconds; if it is the start of a line, that line is withdrawn
   */
  async end(namespaceId: string, contractId: string, lineIds: readonly string[], at: number): Promise<void> {
    if (lineIds.length > 0) await db.query(END, [namespaceId, contractId, lineIds, at])
  },

  /** Lists all lines that each of these contracts ever had, in order of creation. It takes one statement. */
  async listOf(namespaceId: string, contractIds: readonly string[]): Promise<Map<string, StoredLine[]>> {
    const lines = new Map(contractIds.map((id): [string, StoredLine[]] => [id, []]))
    const { rows } = await db.query<LineRow>(LIST_OF, [namespaceId, contractIds])
    for (const row of rows) lines.get(row.contract_id)?.push(lineFromRow(row))
    return lines
  },

  /** Lists the accounts that follow a card at any second of a range: the first `atMost` of them by id. */
  async listFollowers(namespaceId: string, { startAt, endAt }: TimeRange, atMost: number): Promise<string[]> {
    const { rows } = await db.query<{ account_id: string }>(LIST_FOLLOWERS, [
      namespaceId,
      startAt,
      endAt,
      atMost,
    ])
    return rows.map((row) => row.account_id)
  },

  /** Lists the accounts that, at the second `at`, follow a card in a currency other than `currency`. */
  async listFollowersInOthers(namespaceId: string, at: number, currency: string): Promise<Set<string>> {
    const { rows } = await db.query<{ account_id: string }>(LIST_FOLLOWERS_IN_OTHERS, [
      namespaceId,
      at,
      currency,
    ])
    return new Set(rows.map((row) => row.account_id))
  },

  /**
   * Finds for each account the line by which it follows a card at the second `at`. Accounts that follow no card are
   * absent.
   */
  async listFollowed(
    namespaceId: string,
    accountIds: readonly string[],
    at: number,
  ): Promise<Map<string, CardLine>> {
    const { rows } = await db.query<LineRow & { account_id: string }>(LIST_FOLLOWED, [
      namespaceId,
      accountIds,
      at,
    ])
    return new Map(rows.map((row) => [row.account_id, lineFromRow(row) as CardLine]))
  },

  /**
   * Lists a page of all lines that a contract ever had, in order of creation.
   *
   * @throws DomainError malformed when startingAfter is no line of the contract
   */
  async list(
    namespaceId: string,
    contractId: string,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<StoredLine>> {
    if (startingAfter !== undefined) {
      const { rowCount } = await db.query(EXISTS, [namespaceId, contractId, startingAfter])
      if (rowCount === 0) throw unknownCursor()
    }
    await readInIndexOrder(db)
    const { rows } = await db.query<LineRow>(LIST, [
      namespaceId,
      contractId,
      limit + 1,
      startingAfter ?? null,
    ])
    return pageOf(rows.map(lineFromRow), limit)
  },
})

const lineToColumns = (line: NewLine, index: number): object => ({
  nth: index + 1,
  contract_line_id: line.id,
  starts_at: line.startsAt,
  ends_at: line.endsAt,
  description: line.description,
  ...termsToColumns(line),
})

function termsToColumns(line: ContractLine): object {
  switch (line.kind) {
    case 'card':
      return { rate_card_id: line.rateCardId, discount_percent: line.discountPercent }
    case 'price':
      return { price_id: line.priceId, quantity: line.quantity, discount_percent: line.discountPercent }
    case 'minimum':
      return { minimum_amount: line.minimumAmount }
    case 'credit': {
      const source = isMetric(line.source)
        ? { credit_metric_id: line.source }
        : { credit_currency: line.source }
      return { credit_amount: line.amount, credit_expires: line.expires, ...source }
    }
  }
}

const overrideToColumns = (
  lineId: string,
  nth: number,
  { productId, value, priceId }: PriceOverride,
): OverrideRow & { contract_line_id: string; nth: number } => ({
  contract_line_id: lineId,
  nth,
  product_id: productId,
  has_value: value !== undefined,
  value: value ?? null,
  price_id: priceId,
})

const lineFromRow = (row: LineRow): StoredLine => ({
  id: row.contract_line_id,
  startsAt: row.starts_at.getTime() / 1_000,
  endsAt: row.ends_at && row.ends_at.getTime() / 1_000,
  description: row.description,
  createdAt: row.created_at,
  ...termsFromRow(row),
})

type WithoutEntry<L> = L extends ContractLine ? Omit<L, 'id' | 'startsAt' | 'endsAt'> : never

function termsFromRow(row: LineRow): WithoutEntry<ContractLine> {
  if (row.rate_card_id !== null)
    return {
      kind: 'card',
      rateCardId: row.rate_card_id,
      priceOverrides: (row.overrides ?? []).map(overrideFromRow),
      discountPercent: decimalOf(row.discount_percent),
    }
  if (row.price_id !== null)
    return {
      kind: 'price',
      priceId: row.price_id,
      quantity: decimalOf(row.quantity),
      discountPercent: decimalOf(row.discount_percent),
    }
  if (row.minimum_amount !== null) return { kind: 'minimum', minimumAmount: decimalOf(row.minimum_amount) }
  return {
    kind: 'credit',
    amount: decimalOf(row.credit_amount),
    source: row.credit_metric_id ?? row.credit_currency ?? '',
    expires: row.credit_expires ?? 'never',
  }
}

const overrideFromRow = (row: OverrideRow): PriceOverride => ({
  productId: row.product_id,
  ...(row.has_value && { value: row.value }),
  priceId: row.price_id,
})

/**
 * Returns a numeric column as decimal text, in the form that answers use. Checks of the table guarantee that the column
 * is set here.
 */
const decimalOf = (numeric: string | null): string => formatAmount(amountFromDatabase(numeric ?? '0'))
