import { compareAmounts, subtractAmounts, ZERO } from '../../shared/amount/amount.ts'
import type { UsageReader } from '../../shared/balances/usage-reader.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { grantRepository } from '../../shared/postgres/grants.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import {
  refillConfigurationRepository,
  type RefillConfigurationKey,
} from '../../shared/postgres/refill-configurations.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import { loggableError } from '../../shared/clickhouse/loggable-error.ts'
import type { HeldBalances } from './held-balances.ts'
import type { RefillBalance, RefillOutcome } from './refill-balance.ts'
import type { RefillMetrics } from './refill-metrics.ts'

export interface CheckBalancesDeps {
  pool: Pool
  usage: UsageReader
  nowOf: (namespaceId: string) => Promise<Date>
  refill: RefillBalance
  held: HeldBalances
  metrics: RefillMetrics
  log: Logger
}

export type CheckBalances = (
  namespaceId: string,
  keys: readonly RefillConfigurationKey[],
  signal: AbortSignal,
) => Promise<void>

/** So many are refilled at once, each on a connection of its own. */
export const REFILLS_AT_ONCE = 4
/** An account's id is 45 bytes in a parameter, and a ClickHouse server takes 128 KiB. */
export const BALANCES_AT_ONCE = 2_000
/** How long a balance is left alone that cannot be refilled for now, or failed to be. */
const BLOCKED_MS = 60_000
const FAILED_MS = 5_000

/**
 * Looks at balances of a namespace, any number at once for two queries to PostgreSQL and one to ClickHouse, and refills
 * those below their minimum, until it is told to stop. Keys without an active configuration do no harm.
 *
 * @throws when a database is away while it looks; a refill that fails is tried again by itself
 */
export function checkBalances(deps: CheckBalancesDeps): CheckBalances {
  return async (namespaceId, keys, signal) => {
    const wanted = keys.filter((key) => !deps.held.isHeld({ namespaceId, ...key }))
    for (let start = 0; start < wanted.length && !signal.aborted; start += BALANCES_AT_ONCE) {
      const low = await listLow(deps, namespaceId, wanted.slice(start, start + BALANCES_AT_ONCE))
      await Promise.all(
        Array.from({ length: REFILLS_AT_ONCE }, async () => {
          for (let key = low.pop(); key !== undefined && !signal.aborted; key = low.pop())
            await tryRefill(deps, namespaceId, key)
        }),
      )
    }
  }
}

/** Those whose balance is below the minimum, as far as can be told without a lock. */
async function listLow(
  { pool, usage, nowOf, metrics }: CheckBalancesDeps,
  namespaceId: string,
  keys: readonly RefillConfigurationKey[],
): Promise<RefillConfigurationKey[]> {
  const now = await nowOf(namespaceId)
  const { minimums, accountIds, granted } = await inNamespace(pool, namespaceId, async (db) => {
    const listed = await refillConfigurationRepository(db).listMinimums(namespaceId, keys)
    const ids = [...new Set(listed.map(({ accountId }) => accountId))]
    return {
      minimums: listed,
      accountIds: ids,
      granted:
        ids.length === 0 ? undefined : await grantRepository(db).sumInForceByAccount(namespaceId, ids, now),
    }
  })
  if (granted === undefined) return []
  const used = await usage.sumByAccount(namespaceId, accountIds)
  metrics.looked(minimums.length)
  return minimums.filter(({ accountId, metricId, minimumBalance }) => {
    const grantTotal = granted.get(accountId)?.get(metricId) ?? ZERO
    const usageTotal = used.get(accountId)?.get(metricId) ?? ZERO
    return compareAmounts(subtractAmounts(grantTotal, usageTotal), minimumBalance) < 0
  })
}

async function tryRefill(
  { refill, held, metrics, log }: CheckBalancesDeps,
  namespaceId: string,
  { accountId, metricId }: RefillConfigurationKey,
): Promise<void> {
  const balance = { namespaceId, accountId, metricId }
  try {
    const outcome = await refill(namespaceId, { accountId, metricId })
    metrics.tried(outcome.kind)
    const holdMs = holdMsAfter(outcome)
    if (holdMs !== undefined) held.hold(balance, performance.now() + holdMs)
  } catch (err) {
    metrics.failed('refill')
    log.warn({ err: loggableError(err), ...balance }, 'could not refill a balance, trying again')
    held.hold(balance, performance.now() + FAILED_MS)
  }
}

/** How long a balance is left alone; undefined when it may be looked at again as soon as its usage changes. */
function holdMsAfter(outcome: RefillOutcome): number | undefined {
  switch (outcome.kind) {
    case 'refilled':
    case 'enough':
      return undefined
    case 'not_now':
      return 0 // until the next look
    case 'too_soon':
      return outcome.waitMs
    case 'day_full':
    case 'too_large':
      return BLOCKED_MS
  }
}
