/**
 * How a column is written, in JSON for ClickHouse and for digests:
 *
 * - `text`: as it is;
 * - `uuid`: as text with dashes;
 * - `decimal`: without zeros at the end;
 * - `time`: in microseconds since 1970. ClickHouse's own times end in 2299, and a contract may end in 9999;
 * - `integer`: as a number; microseconds, where PostgreSQL keeps them as a number, too;
 * - `flag`: 0 or 1.
 */
export type DimensionKind = 'text' | 'uuid' | 'decimal' | 'time' | 'integer' | 'flag'

export interface DimensionColumn {
  name: string
  kind: DimensionKind
}

/** A table of PostgreSQL that ClickHouse has a copy of, for analysts. */
export interface DimensionTable {
  /** Its name in PostgreSQL. */
  name: string
  /** The columns that identify a row within its namespace. */
  key: readonly DimensionColumn[]
  /** The other columns that are copied. A column that is named like a list has rows of another table, as JSON. */
  columns: readonly DimensionColumn[]
}

const of = (kind: DimensionKind, ...names: readonly string[]): DimensionColumn[] =>
  names.map((name) => ({ name, kind }))

/** The tables that are copied, in the order in which their rows refer to each other. */
export const DIMENSION_TABLES: readonly DimensionTable[] = [
  {
    name: 'customers',
    key: of('uuid', 'customer_id'),
    columns: [
      ...of('text', 'name', 'external_id', 'payments_customer_id'),
      ...of('uuid', 'accounting_customer_id'),
      ...of('time', 'created_at', 'updated_at'),
    ],
  },
  {
    name: 'accounts',
    key: of('text', 'account_id'),
    columns: [
      ...of('text', 'name', 'external_id'),
      ...of('uuid', 'customer_id'),
      ...of('text', 'description'),
      ...of('time', 'created_at', 'updated_at', 'archived_at'),
    ],
  },
  {
    name: 'metrics',
    key: of('text', 'metric_id'),
    columns: [
      ...of('text', 'name', 'external_id', 'measurement_units', 'description'),
      ...of('time', 'created_at', 'updated_at', 'archived_at'),
    ],
  },
  {
    name: 'grants',
    key: of('text', 'grant_id'),
    columns: [
      ...of('text', 'account_id', 'metric_id', 'currency'),
      ...of('decimal', 'amount'),
      ...of('text', 'description'),
      ...of('uuid', 'contract_v1_id'),
      ...of('time', 'effective_at', 'expires_at', 'accepted_at', 'created_at', 'updated_at'),
      ...of('time', 'voided_at', 'archived_at'),
    ],
  },
  {
    name: 'products',
    key: of('text', 'product_id'),
    columns: [
      ...of('text', 'name', 'external_id', 'description'),
      ...of('time', 'created_at', 'updated_at', 'archived_at'),
    ],
  },
  {
    name: 'prices',
    key: of('text', 'price_id'),
    columns: [
      ...of('text', 'product_id', 'currency', 'terms', 'description'),
      ...of('time', 'created_at', 'updated_at', 'archived_at'),
    ],
  },
  {
    name: 'rate_cards',
    key: of('text', 'rate_card_id'),
    columns: [
      ...of('text', 'name', 'external_id', 'currency', 'description'),
      ...of('time', 'created_at', 'updated_at', 'archived_at'),
    ],
  },
  {
    name: 'rates',
    key: of('text', 'rate_id'),
    columns: [
      ...of('text', 'rate_card_id', 'metric_id', 'currency', 'aggregation', 'filters', 'group_by', 'prices'),
      ...of('time', 'starts_at', 'ends_at', 'created_at'),
    ],
  },
  {
    name: 'contracts',
    key: of('uuid', 'contract_id'),
    columns: [
      ...of('text', 'account_id', 'name', 'external_id', 'currency', 'cadence'),
      ...of('time', 'anchor_at', 'starts_at', 'ends_at', 'cancel_at', 'cancel_requested_at'),
      ...of('text', 'cancel_mode', 'cancel_reason', 'description'),
      ...of('time', 'created_at', 'updated_at'),
    ],
  },
  {
    name: 'contract_lines',
    key: of('text', 'contract_line_id'),
    columns: [
      ...of('uuid', 'contract_id'),
      ...of('text', 'account_id', 'rate_card_id', 'price_id'),
      ...of('decimal', 'quantity', 'discount_percent', 'minimum_amount', 'credit_amount'),
      ...of('text', 'credit_metric_id', 'credit_currency', 'credit_expires', 'overrides', 'description'),
      ...of('time', 'starts_at', 'ends_at', 'created_at'),
    ],
  },
  {
    name: 'event_revisions',
    key: [...of('text', 'event_id'), ...of('integer', 'revision')],
    columns: [
      ...of('text', 'account_id', 'metric_id', 'currency'),
      ...of('decimal', 'quantity'),
      ...of('text', 'properties'),
      ...of('flag', 'voided'),
      ...of('integer', 'accepted_at', 'corrected_at'),
      ...of('uuid', 'key_id'),
    ],
  },
]
