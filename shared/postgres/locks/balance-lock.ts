import type { UsageSource } from '../../domain/usage-source.ts'
import type { Queryable } from '../core/pool.ts'

const HOLD = 'SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))'
const HOLD_ALL =
  'SELECT pg_advisory_xact_lock_shared(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name'
const HOLD_ALONE = 'SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name'

/**
 * Takes a shared lock of a balance until the transaction ends. During that time, no refill of this balance is computed.
 * Therefore a refill sees every change of grants with an earlier time than its own, and every change with a later time
 * sees the refill. A change is a new grant, a voiding or an archiving. Other transactions that change grants of the
 * same account and source need not wait.
 *
 * This lock must be taken before a creation lock. Otherwise two transactions could deadlock.
 */
export const shareBalance = (db: Queryable, namespaceId: string, accountId: string, source: UsageSource) =>
  db.query(HOLD, [nameOf(namespaceId, accountId, source)])

/** Takes the shared locks of several balances; see shareBalance. */
export const shareBalances = (
  db: Queryable,
  namespaceId: string,
  keys: readonly { accountId: string; source: UsageSource }[],
) =>
  db.query(HOLD_ALL, [inOrder(keys.map(({ accountId, source }) => nameOf(namespaceId, accountId, source)))])

/**
 * Takes exclusive locks of balances, for refills of metrics. No other transaction holds these locks at the same time.
 * The caller must have locked the refill configurations.
 */
export const lockBalances = (
  db: Queryable,
  namespaceId: string,
  keys: readonly { accountId: string; metricId: string }[],
) =>
  db.query(HOLD_ALONE, [
    inOrder(keys.map(({ accountId, metricId }) => nameOf(namespaceId, accountId, metricId))),
  ])

/** Returns each name once, and always in the same order, so that no two transactions deadlock. */
const inOrder = (names: readonly string[]): string[] => [...new Set(names)].toSorted()

const nameOf = (...parts: readonly string[]): string => ['tally.balance', ...parts].join(' ')
