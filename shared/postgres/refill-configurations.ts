import { type Amount, amountFromDatabase, formatAmount } from '../amount/amount.ts'
import { type Changes, isUnchanged } from '../domain/changes.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import type { RefillConfiguration } from '../domain/refill.ts'
import { DomainError } from '../errors/domain-error.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { isCheckViolation, isForeignKeyViolation, isUniqueViolation } from './core/violations.ts'
import { lockCreation } from './locks/creation-lock.ts'

export type NewRefillConfiguration = Omit<RefillConfiguration, 'createdAt' | 'updatedAt'>

export type RefillConfigurationChanges = Changes<
  Pick<RefillConfiguration, 'minimumBalance' | 'targetBalance' | 'isActive'>
>

/** The key of a configuration. */
export type RefillConfigurationKey = Pick<RefillConfiguration, 'accountId' | 'metricId'>

interface RefillConfigurationRow {
  account_id: string
  metric_id: string
  minimum_balance: string
  target_balance: string
  is_active: boolean
  created_at: Date
  updated_at: Date
}

const COLUMNS = 'account_id, metric_id, minimum_balance, target_balance, is_active, created_at, updated_at'
const INSERT = `
  INSERT INTO refill_configurations (namespace_id, account_id, metric_id, minimum_balance, target_balance, is_active,
    created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, $6, at, at FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `
  SELECT ${COLUMNS} FROM refill_configurations WHERE namespace_id = $1 AND account_id = $2 AND metric_id = $3`
const UPDATE = `
  UPDATE refill_configurations AS c SET
    (minimum_balance, target_balance, is_active) =
      (SELECT minimum_balance, target_balance, is_active FROM jsonb_populate_record(c, $4)),
    updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND account_id = $2 AND metric_id = $3
  RETURNING ${COLUMNS}`
const LIST = `
  SELECT ${COLUMNS} FROM refill_configurations WHERE namespace_id = $1
    AND ($3::text IS NULL OR account_id = $3)
    AND ($4::text IS NULL OR metric_id = $4)
    AND ($5::text IS NULL OR (created_at, account_id, metric_id) >
      (SELECT created_at, account_id, metric_id FROM refill_configurations
        WHERE namespace_id = $1 AND account_id = $5 AND metric_id = $6))
  ORDER BY created_at, account_id, metric_id LIMIT $2`

// Archived accounts and metrics are not refilled.
const OF_LIVE_PAIRS = `
  FROM refill_configurations AS c
  JOIN accounts AS a ON a.namespace_id = c.namespace_id AND a.account_id = c.account_id
  JOIN metrics AS m ON m.namespace_id = c.namespace_id AND m.metric_id = c.metric_id
  WHERE c.namespace_id = $1 AND c.is_active AND a.archived_at IS NULL AND m.archived_at IS NULL`
const AMONG = '(c.account_id, c.metric_id) IN (SELECT * FROM unnest($2::text[], $3::text[]))'
const LIST_DUE = `
  SELECT c.account_id, c.metric_id, c.minimum_balance ${OF_LIVE_PAIRS}
    AND ${AMONG}`
const LIST_ACTIVE_KEYS = `
  SELECT account_id, metric_id FROM refill_configurations
  WHERE namespace_id = $1 AND is_active AND (account_id, metric_id) > ($2, $3)
  ORDER BY account_id, metric_id LIMIT $4`
const LOCK = `
  SELECT c.account_id, c.metric_id, c.minimum_balance, c.target_balance, c.occurrences ${OF_LIVE_PAIRS}
    AND ${AMONG}
  FOR UPDATE OF c SKIP LOCKED`
const COUNT_OCCURRENCE = `
  UPDATE refill_configurations SET occurrences = $4
  WHERE namespace_id = $1 AND account_id = $2 AND metric_id = $3`

/** A configuration whose row is locked. */
export interface LockedRefillConfiguration extends Pick<
  RefillConfiguration,
  'accountId' | 'metricId' | 'minimumBalance' | 'targetBalance'
> {
  /** The number of refills that were made for it. */
  occurrences: bigint
}

export const refillConfigurationRepository = (db: Queryable) => ({
  /**
   * Inserts a configuration, within a transaction. Configurations of a namespace are created one after the other, so
   * that a reader that follows the list misses none.
   *
   * @throws DomainError conflict when the account already has a configuration for the metric; unprocessable when the
   *   account or the metric does not exist, or the target is not above the minimum
   */
  async insert(namespaceId: string, configuration: NewRefillConfiguration): Promise<RefillConfiguration> {
    await lockCreation(db, 'refill_configurations', namespaceId)
    const { accountId, metricId, minimumBalance, targetBalance, isActive } = configuration
    const amounts = [formatAmount(minimumBalance), formatAmount(targetBalance)]
    const made = await findOne(db, INSERT, [namespaceId, accountId, metricId, ...amounts, isActive])
    return made as RefillConfiguration
  },

  find: (namespaceId: string, { accountId, metricId }: RefillConfigurationKey) =>
    findOne(db, FIND, [namespaceId, accountId, metricId]),

  /**
   * Changes the given fields.
   *
   * @returns the configuration, undefined when there is none
   * @throws DomainError unprocessable when the target would not be above the minimum
   */
  async update(
    namespaceId: string,
    key: RefillConfigurationKey,
    changes: RefillConfigurationChanges,
  ): Promise<RefillConfiguration | undefined> {
    if (isUnchanged(changes)) return this.find(namespaceId, key)
    const columns = {
      minimum_balance: textOf(changes.minimumBalance),
      target_balance: textOf(changes.targetBalance),
      is_active: changes.isActive,
    }
    return findOne(db, UPDATE, [namespaceId, key.accountId, key.metricId, JSON.stringify(columns)])
  },

  /** Lists the keys of active configurations in their order, after a given key or from the start. */
  async listActiveKeys(
    namespaceId: string,
    after: RefillConfigurationKey | undefined,
    limit: number,
  ): Promise<RefillConfigurationKey[]> {
    const { rows } = await db.query<{ account_id: string; metric_id: string }>(LIST_ACTIVE_KEYS, [
      namespaceId,
      after?.accountId ?? '',
      after?.metricId ?? '',
      limit,
    ])
    return rows.map((row) => ({ accountId: row.account_id, metricId: row.metric_id }))
  },

  /**
   * Lists the balance below which each of these accounts and metrics is refilled now. It includes only active
   * configurations of accounts and metrics that are not archived.
   */
  async listMinimums(
    namespaceId: string,
    keys: readonly RefillConfigurationKey[],
  ): Promise<(RefillConfigurationKey & Pick<RefillConfiguration, 'minimumBalance'>)[]> {
    const { rows } = await db.query<
      Pick<RefillConfigurationRow, 'account_id' | 'metric_id' | 'minimum_balance'>
    >(LIST_DUE, [namespaceId, keys.map(({ accountId }) => accountId), keys.map(({ metricId }) => metricId)])
    return rows.map((row) => ({
      accountId: row.account_id,
      metricId: row.metric_id,
      minimumBalance: amountFromDatabase(row.minimum_balance),
    }))
  },

  /**
   * Locks configurations until the transaction ends. A configuration is absent when another transaction has locked it,
   * or when it must not be refilled any more.
   */
  async lock(
    namespaceId: string,
    keys: readonly RefillConfigurationKey[],
  ): Promise<LockedRefillConfiguration[]> {
    const { rows } = await db.query<RefillConfigurationRow & { occurrences: string }>(LOCK, [
      namespaceId,
      keys.map(({ accountId }) => accountId),
      keys.map(({ metricId }) => metricId),
    ])
    return rows.map((row) => ({
      accountId: row.account_id,
      metricId: row.metric_id,
      minimumBalance: amountFromDatabase(row.minimum_balance),
      targetBalance: amountFromDatabase(row.target_balance),
      occurrences: BigInt(row.occurrences),
    }))
  },

  /** Records that the refill with this number is made, within the transaction that locked the configuration. */
  async countOccurrence(
    namespaceId: string,
    { accountId, metricId }: RefillConfigurationKey,
    occurrence: bigint,
  ): Promise<void> {
    await db.query(COUNT_OCCURRENCE, [namespaceId, accountId, metricId, occurrence.toString()])
  },

  /**
   * Lists configurations in order of creation.
   *
   * @param filter limits the list to configurations of an account or of a metric; undefined fields do not filter
   * @param after the last configuration of the previous page
   * @throws DomainError malformed when `after` is not in the namespace
   */
  async list(
    namespaceId: string,
    { accountId, metricId }: Changes<RefillConfigurationKey>,
    limit: PageRequest['limit'],
    after: RefillConfigurationKey | undefined,
  ): Promise<Page<RefillConfiguration>> {
    if (after !== undefined && (await this.find(namespaceId, after)) === undefined) throw unknownCursor()
    await readInIndexOrder(db)
    const cursor = [after?.accountId ?? null, after?.metricId ?? null]
    const values = [namespaceId, limit + 1, accountId ?? null, metricId ?? null, ...cursor]
    const { rows } = await db.query<RefillConfigurationRow>(LIST, values)
    return pageOf(rows.map(refillConfigurationFromRow), limit)
  },
})

async function findOne(
  db: Queryable,
  text: string,
  values: unknown[],
): Promise<RefillConfiguration | undefined> {
  try {
    const { rows } = await db.query<RefillConfigurationRow>(text, values)
    return rows.map(refillConfigurationFromRow)[0]
  } catch (err) {
    throw explain(err)
  }
}

function explain(err: unknown): unknown {
  const because = (code: 'conflict' | 'unprocessable', message: string) =>
    new DomainError(code, message, { cause: err })
  if (isUniqueViolation(err, 'refill_configurations_pkey'))
    return because('conflict', 'account_id, metric_id: there is a refill configuration for them already')
  if (isForeignKeyViolation(err, 'refill_configurations_account'))
    return because('unprocessable', 'account_id: there is no such account')
  if (isForeignKeyViolation(err, 'refill_configurations_metric'))
    return because('unprocessable', 'metric_id: there is no such metric')
  // PostgreSQL checks the final values of the row, exactly. So no other change can come in between.
  if (isCheckViolation(err, 'refill_configurations_target'))
    return because('unprocessable', 'target_balance: must be greater than minimum_balance')
  return err
}

const textOf = (amount: Amount | undefined): string | undefined =>
  amount === undefined ? undefined : formatAmount(amount)

const refillConfigurationFromRow = (row: RefillConfigurationRow): RefillConfiguration => ({
  accountId: row.account_id,
  metricId: row.metric_id,
  minimumBalance: amountFromDatabase(row.minimum_balance),
  targetBalance: amountFromDatabase(row.target_balance),
  isActive: row.is_active,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
