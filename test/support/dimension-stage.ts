import { randomUUID } from 'node:crypto'
import { auditDimensions, type DimensionAudit } from '../../services/operator/audit/audit-dimensions.ts'
import { dimensionCopier } from '../../services/rollup/copy-dimensions.ts'
import type { RollupPoint } from '../../services/rollup/crash-points.ts'
import { type ClickHouse, queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
import { newApiKey } from '../../shared/domain/api-key.ts'
import { newId } from '../../shared/domain/ids.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool, PoolClient } from '../../shared/postgres/core/pool.ts'
import { inNamespace, withTransaction } from '../../shared/postgres/core/transaction.ts'
import { dimensionChangeRepository } from '../../shared/postgres/dimension-changes.ts'
import { runExclusively } from '../../shared/postgres/locks/run-exclusively.ts'
import { retiredNamespaceRepository } from '../../shared/postgres/retired-namespaces.ts'
import { insertContractWorld } from './contract-rows.ts'
import { insertKey } from './insert-key.ts'

const never = new AbortController().signal

/** A copier as the rollup service has it, one round at a time. */
export function openCopier(
  pool: Pool,
  clickhouse: ClickHouse,
  reached: Reached<RollupPoint> = () => undefined,
  copies = dimensionRepository(clickhouse),
  changes = dimensionChangeRepository(pool),
) {
  const refills: number[] = []
  const round = dimensionCopier({
    changes,
    copies,
    alone: (work) => runExclusively(pool, 'test of dimensions', work),
    onRefill: (position) => refills.push(position),
    reached,
  })
  return {
    /** Positions that were given up, because PostgreSQL went back. */
    refills,
    round: () => round(never),
    /** Rounds until everything is copied that is committed now. */
    async copyAll(): Promise<number> {
      for (let rows = 0; ;) {
        const copied = await round(never)
        rows += copied.rows
        if (copied.isComplete) return rows
      }
    },
  }
}

/** Compares all rows with their copies. */
export const auditCopies = (pool: Pool, clickhouse: ClickHouse, lagMaxMs = 0): Promise<DimensionAudit> =>
  auditDimensions(
    {
      changes: dimensionChangeRepository(pool),
      copies: dimensionRepository(clickhouse),
      retired: retiredNamespaceRepository(pool),
      signal: never,
    },
    lagMaxMs,
  )

/** The rows of a copy that count, in the order of their keys. */
export const listCopies = <Row>(clickhouse: ClickHouse, table: string, namespaceId: string): Promise<Row[]> =>
  queryRows<Row>(
    clickhouse,
    `SELECT * EXCEPT (namespace_id, version, is_deleted) FROM dimension_${table} FINAL
      WHERE namespace_id = {namespaceId:String} ORDER BY ALL`,
    { namespaceId },
  )

/** A company, with a row of each table that is copied. */
export async function makeDimensionWorld(
  pool: Pool,
  mode: 'live' | 'test' = 'live',
  namespaceId: string = randomUUID(),
) {
  const companyId = randomUUID()
  await withTransaction(pool, (tx) =>
    companyRepository(tx).insert({ id: companyId, name: companyId, mode, namespaceId }),
  )
  const keyId = await insertKey(pool, { companyId, key: newApiKey(mode) })
  const within = <T>(work: (db: PoolClient) => Promise<T>): Promise<T> => inNamespace(pool, namespaceId, work)
  const run = (statement: string, values: readonly unknown[] = []) =>
    within((db) => db.query(statement, [namespaceId, ...values]))
  const base = await within((db) => insertContractWorld(db, namespaceId))
  const customer = randomUUID()
  const contract = randomUUID()
  const [grant, rate, line] = [newId('grant'), newId('rate'), newId('contract_line')]
  const event = `event_${'6'.repeat(32)}`
  const world = {
    ...base,
    companyId,
    namespaceId,
    keyId,
    customer,
    contract,
    grant,
    rate,
    line,
    event,
    within,
    run,
  }
  await within((db) => insertRows(db, world))
  return world
}

export type DimensionWorld = Awaited<ReturnType<typeof makeDimensionWorld>>

/** Values that a copy could spoil: digits, signs, late times, and text that needs escapes. */
export const TRICKY_TEXT = 'Zoë “Q” \\N\t\n\'"\u{1f4a7} 1:-'
const SMALLEST = '0.000000000000000001'
const LARGEST = '99999999999999999999.999999999999999999'
const LAST_SECOND = '9999-12-31T23:59:59Z'

async function insertRows(
  db: PoolClient,
  {
    namespaceId: ns,
    keyId,
    customer,
    contract,
    grant,
    rate,
    line,
    event,
    ...base
  }: Omit<DimensionWorld, 'within' | 'run'>,
): Promise<void> {
  const { account, metric, price, product, rateCard } = base
  await db.query(
    `INSERT INTO customers (namespace_id, customer_id, name, sort_name, external_id, created_at, updated_at)
      VALUES ($1, $2, $3, '', 'c-1', '2026-01-02T03:04:05.678901Z', now())`,
    [ns, customer, TRICKY_TEXT],
  )
  await db.query(`UPDATE accounts SET customer_id = $2, name = $3 WHERE namespace_id = $1`, [
    ns,
    customer,
    TRICKY_TEXT,
  ])
  await db.query(
    `INSERT INTO grants (namespace_id, grant_id, account_id, metric_id, amount, effective_at, expires_at, accepted_at, created_at, updated_at)
      VALUES ($1, $2, $3, $4, -${LARGEST}, 'epoch', '${LAST_SECOND}', now(), now(), now())`,
    [ns, grant, account, metric],
  )
  await db.query(
    `INSERT INTO rates (namespace_id, rate_id, rate_card_id, metric_id, aggregation, filters, scope_digest, starts_at, created_at)
      VALUES ($1, $2, $3, $4, 'sum', '[{"name": "model"}]', '', 'epoch', now())`,
    [ns, rate, rateCard, metric],
  )
  await db.query(
    `INSERT INTO rate_prices (namespace_id, rate_id, value, price_id) VALUES ($1, $2, NULL, $3), ($1, $2, $4, $3)`,
    [ns, rate, price, TRICKY_TEXT],
  )
  await db.query(
    `INSERT INTO contracts (namespace_id, contract_id, account_id, currency, cadence, anchor_at, starts_at, ends_at, created_at, updated_at)
      VALUES ($1, $2, $3, 'usd', 'month', 'epoch', 'epoch', '${LAST_SECOND}', now(), now())`,
    [ns, contract, account],
  )
  await db.query(
    `INSERT INTO contract_lines (namespace_id, contract_line_id, contract_id, account_id, starts_at, rate_card_id, discount_percent, created_at)
      VALUES ($1, $2, $3, $4, 'epoch', $5, 12.5, now())`,
    [ns, line, contract, account, rateCard],
  )
  await db.query(
    `INSERT INTO contract_line_overrides (namespace_id, contract_line_id, nth, product_id, has_value, value, price_id)
      VALUES ($1, $2, 0, $3, false, NULL, $4)`,
    [ns, line, product, price],
  )
  await db.query(
    `INSERT INTO event_revisions (namespace_id, event_id, revision, account_id, metric_id, quantity, properties, voided, accepted_at, corrected_at, key_id)
      VALUES ($1, $2, 0, $3, $4, ${SMALLEST}, $5, false, 1700000000123456, NULL, NULL),
        ($1, $2, 1, $3, $4, -5, '{}', true, 1700000000123456, 1700000001000000, $6),
        ($1, $2, 10, $3, $4, -5, '{}', true, 1700000000123456, 1700000002000000, $6),
        ($1, $2, 2, $3, $4, -5, '{}', true, 1700000000123456, 1700000003000000, $6)`,
    [ns, event, account, metric, JSON.stringify({ model: TRICKY_TEXT }), keyId],
  )
}
