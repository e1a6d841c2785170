import type { UsageSource } from '../../domain/usage-source.ts'
import type { Queryable } from '../core/pool.ts'

const HOLD = 'SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))'
const HOLD_ALL =
  'SELECT pg_advisory_xact_lock_shared(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name'
const HOLD_ALONE = 'SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name'

/**
 * Shares the lock of a balance until the transaction ends, so that no refill of it is computed meanwhile: a refill sees
 * every grant, void and archiving whose time is before its own, and those after it have seen the refill. Others that
 * change grants of the same account and source are not kept waiting. It comes before a creation lock, or two could wait
 * for each other.
 */
export const shareBalance = (db: Queryable, namespaceId: string, accountId: string, source: UsageSource) =>
  db.query(HOLD, [nameOf(namespaceId, accountId, source)])

/** The same for several balances. */
export const shareBalances = (
  db: Queryable,
  namespaceId: string,
  keys: readonly { accountId: string; source: UsageSource }[],
) =>
  db.query(HOLD_ALL, [inOrder(keys.map(({ accountId, source }) => nameOf(namespaceId, accountId, source)))])

/**
 * The same for refills of metrics: nobody else holds the balances meanwhile. Who calls this holds their configurations.
 */
export const lockBalances = (
  db: Queryable,
  namespaceId: string,
  keys: readonly { accountId: string; metricId: string }[],
) =>
  db.query(HOLD_ALONE, [
    inOrder(keys.map(({ accountId, metricId }) => nameOf(namespaceId, accountId, metricId))),
  ])

/** Each once, and in one order for everybody, so that no two who take several wait for each other. */
const inOrder = (names: readonly string[]): string[] => [...new Set(names)].toSorted()

const nameOf = (...parts: readonly string[]): string => ['tally.balance', ...parts].join(' ')
