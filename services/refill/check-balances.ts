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

/** The maximum number of refill transactions at the same time. */
export const REFILLS_AT_ONCE = 2
/**
 * The maximum number of balances that a transaction refills. Together they take one query to ClickHouse, and other
 * transactions wait only a short time for so few.
 */
const REFILLED_TOGETHER = 50
/** The maximum number of balances that are checked together. With so many, the fixed cost of a statement is small. */
export const BALANCES_AT_ONCE = 2_000
/** The cooldown of a balance that cannot be refilled for now. */
const BLOCKED_MS = 60_000
/** The cooldown of a balance whose refill failed. */
const FAILED_MS = 5_000

/**
 * Checks balances of a namespace and refills those below their minimum, until the signal aborts. Up to BALANCES_AT_ONCE
 * balances are checked with a fixed number of queries. Keys without an active configuration are ignored.
 *
 * @throws when a database cannot be reached during the check. A failed refill does not throw: it is tried again after a
 *   cooldown
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

/** Lists the balances below their minimum, read without a lock. */
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

/** Refills balances together. If PostgreSQL refuses a row, tries them one by one, so that the others are refilled. */
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

/** The cooldown of a balance; undefined when it may be checked again as soon as its usage changes. */
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
