import { compareAmounts } from '../../shared/amount/amount.ts'
import type { AccountSumsReader } from '../../shared/clickhouse/usage/account-sums.ts'
import { balanceIn } from '../../shared/domain/balance.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { isRefusedRow } from '../../shared/postgres/core/violations.ts'
import { sumGrantsOfAccounts } from '../../shared/postgres/grants.ts'
import {
  type RefillConfigurationKey,
  refillConfigurationRepository,
} from '../../shared/postgres/refill-configurations.ts'
import type { NowOf, RefillBalances, RefillOutcome } from './refill-balances.ts'
import type { RefillCooldowns } from './refill-cooldowns.ts'
import type { RefillMetrics } from './refill-metrics.ts'

export interface CheckBalancesDeps {
  pool: Pool
  usage: Pick<AccountSumsReader, 'sumByAccount'>
  nowOf: NowOf
  refill: RefillBalances
  cooldowns: RefillCooldowns
  metrics: RefillMetrics
  log: Logger
}

export type CheckBalances = (
  namespaceId: string,
  keys: readonly RefillConfigurationKey[],
  signal: AbortSignal,
) => Promise<void>

/** How many transactions refill at the same time. */
export const REFILLS_AT_ONCE = 2
/**
 * How many balances a transaction refills: enough to share a query to ClickHouse, and too few to keep others waiting
 * for long.
 */
const REFILLED_TOGETHER = 50
/** How many balances are checked together: enough that a statement's fixed cost does not matter. */
export const BALANCES_AT_ONCE = 2_000
/** How long a balance cools down when it cannot be refilled for now, or its refill failed. */
const BLOCKED_MS = 60_000
const FAILED_MS = 5_000

/**
 * Checks balances of a namespace and refills those below their minimum, until the signal aborts. To check up to
 * BALANCES_AT_ONCE balances takes a fixed number of queries. Keys without an active configuration are ignored.
 *
 * @throws when a database cannot be reached during the check; a refill that fails is tried again after a cooldown
 */
export function checkBalances(deps: CheckBalancesDeps): CheckBalances {
  return async (namespaceId, keys, signal) => {
    const wanted = keys.filter((key) => !deps.cooldowns.isCoolingDown({ namespaceId, ...key }))
    for (let start = 0; start < wanted.length && !signal.aborted; start += BALANCES_AT_ONCE) {
      const low = await listLow(deps, namespaceId, wanted.slice(start, start + BALANCES_AT_ONCE))
      await Promise.all(
        Array.from({ length: REFILLS_AT_ONCE }, async () => {
          while (low.length > 0 && !signal.aborted)
            await tryRefill(deps, namespaceId, low.splice(0, REFILLED_TOGETHER))
        }),
      )
    }
  }
}

/** The balances below their minimum, as read without a lock. */
async function listLow(
  { pool, usage, nowOf, metrics }: CheckBalancesDeps,
  namespaceId: string,
  keys: readonly RefillConfigurationKey[],
): Promise<RefillConfigurationKey[]> {
  const { minimums, accountIds, granted } = await inNamespace(pool, namespaceId, async (db) => {
    const listed = await refillConfigurationRepository(db).listMinimums(namespaceId, keys)
    const now = await nowOf(db, namespaceId)
    const ids = [...new Set(listed.map(({ accountId }) => accountId))]
    return {
      minimums: listed,
      accountIds: ids,
      granted: ids.length === 0 ? undefined : await sumGrantsOfAccounts(db, namespaceId, ids, now),
    }
  })
  if (granted === undefined) return []
  const used = await usage.sumByAccount(namespaceId, accountIds)
  metrics.looked(minimums.length)
  const low = minimums.filter(({ accountId, metricId, minimumBalance }) => {
    const { balance } = balanceIn(granted, used, accountId, metricId)
    return compareAmounts(balance, minimumBalance) < 0
  })
  return low.map(({ accountId, metricId }) => ({ accountId, metricId }))
}

/** Refills some balances together, or one by one if PostgreSQL refuses a row: the others must still be refilled. */
async function tryRefill(
  deps: CheckBalancesDeps,
  namespaceId: string,
  keys: readonly RefillConfigurationKey[],
): Promise<void> {
  const { refill, cooldowns, metrics, log } = deps
  const now = performance.now()
  try {
    const outcomes = await refill(namespaceId, keys)
    for (const [n, outcome] of outcomes.entries()) {
      metrics.tried(outcome.kind)
      const cooldownMs = cooldownMsAfter(outcome)
      const key = keys[n]
      if (key !== undefined && cooldownMs !== undefined)
        cooldowns.begin({ namespaceId, ...key }, now + cooldownMs)
    }
  } catch (err) {
    if (isRefusedRow(err) && keys.length > 1) {
      for (const key of keys) await tryRefill(deps, namespaceId, [key])
      return
    }
    metrics.failed('refill')
    const [first] = keys
    log.warn(
      { err: loggableError(err), namespaceId, ...first, count: keys.length },
      'could not refill balances, trying again',
    )
    for (const key of keys) cooldowns.begin({ namespaceId, ...key }, now + FAILED_MS)
  }
}

/** How long a balance cools down; undefined when it may be checked again as soon as its usage changes. */
function cooldownMsAfter(outcome: RefillOutcome): number | undefined {
  switch (outcome.kind) {
    case 'refilled':
    case 'enough':
      return undefined
    case 'not_now':
      return 0 // until the next check
    case 'too_soon':
      return outcome.waitMs
    case 'day_full':
    case 'too_large':
      return BLOCKED_MS
  }
}
