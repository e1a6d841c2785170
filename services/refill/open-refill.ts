import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { touchedUsageRepository } from '../../shared/clickhouse/events/touched-usage.ts'
import type { LatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import { usageThroughRollups } from '../../shared/clickhouse/usage/usage-through-rollups.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool, Queryable } from '../../shared/postgres/core/pool.ts'
import { namespaceClockRepository } from '../../shared/postgres/namespace-clocks.ts'
import { listenForRefillRequests } from '../../shared/postgres/refill-requests.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { checkBalances, REFILLS_AT_ONCE } from './check-balances.ts'
import type { RefillConfig } from './config.ts'
import type { RefillPoint } from './crash-points.ts'
import { followUsage } from './follow-usage.ts'
import { giveContractCredits } from './give-contract-credits.ts'
import { keepBalances, type Keeper } from './keep-balances.ts'
import { refillBalances } from './refill-balances.ts'
import { refillCooldowns } from './refill-cooldowns.ts'
import { refillMetrics } from './refill-metrics.ts'
import { sweepBalances } from './sweep-balances.ts'

/**
 * The refill transactions of a round and of a sweep take one connection each. Two more are for checks, one for credit,
 * one for notifications, and one for probes.
 */
export const REFILL_CONNECTIONS = 2 * REFILLS_AT_ONCE + 5

export interface RefillParts {
  /** A pool of REFILL_CONNECTIONS connections. */
  pool: Pool
  clickhouse: ClickHouse
  /** @see usageThroughRollups */
  latestSums?: LatestSums | undefined
  /** Every event accepted before this time is stored already. */
  listedUpTo: () => Promise<Micros>
  metrics: Metrics
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<RefillPoint>
}

/** Starts refills on their engines, in a process of their own or a shared one. */
export function openRefill(parts: RefillParts, config: RefillConfig): Keeper {
  const { pool, clickhouse, latestSums, listedUpTo, reached = () => undefined } = parts
  const log = parts.log.child({ part: 'refill' })
  const usage = usageThroughRollups(clickhouse, latestSums)
  const metrics = refillMetrics(parts.metrics)
  const cooldowns = refillCooldowns()
  const nowOf = (db: Queryable, namespaceId: string) => namespaceClockRepository(db).now(namespaceId)
  const refill = refillBalances({ pool, usage, nowOf, log, reached }, config)
  const check = checkBalances({ pool, usage, nowOf, refill, cooldowns, metrics, log })
  const follow = followUsage({
    touched: touchedUsageRepository(clickhouse),
    listedUpTo,
    nowS: () => Date.now() / 1_000,
  })
  const sweep = (signal: AbortSignal) => sweepBalances(pool, check, signal)
  const giveCredits = giveContractCredits({ pool, nowOf, metrics, log, reached })
  const keeper = keepBalances({ follow, check, sweep, giveCredits, cooldowns, metrics, log }, config)
  const listener = listenForRefillRequests(pool, keeper, log)
  return {
    ...keeper,
    async close() {
      await listener.close()
      await keeper.close()
    },
  }
}
