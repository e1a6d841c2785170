import { setTimeout as sleep } from 'node:timers/promises'
import {
  compareAmounts,
  findAmountFault,
  formatAmount,
  subtractAmounts,
  ZERO,
  type Amount,
} from '../../shared/amount/amount.ts'
import type { UsageReader } from '../../shared/balances/usage-reader.ts'
import { balanceOf, type Balance } from '../../shared/domain/balance.ts'
import { newId } from '../../shared/domain/ids.ts'
import { ALL_TIME } from '../../shared/domain/time-slot.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { holdBalanceAlone } from '../../shared/postgres/balance-turn.ts'
import { grantRepository } from '../../shared/postgres/grants.ts'
import type { Pool, PoolClient } from '../../shared/postgres/pool.ts'
import {
  refillConfigurationRepository,
  type LockedRefillConfiguration,
  type RefillConfigurationKey,
} from '../../shared/postgres/refill-configurations.ts'
import { refillRepository, type RefillLimits } from '../../shared/postgres/refills.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import type { RefillPoint } from './crash-points.ts'
import { refillInstant } from './refill-instant.ts'

/** What came of looking at a balance under its lock. */
export type RefillOutcome =
  | { kind: 'refilled' }
  /** It is not below the minimum, or no longer. */
  | { kind: 'enough' }
  /** Another process is at it, or somebody changes the configuration, or it is not to be refilled any more. */
  | { kind: 'not_now' }
  /** The last refill was a moment ago. */
  | { kind: 'too_soon'; waitMs: number }
  /** As many refills as may be within a day were made. */
  | { kind: 'day_full' }
  /** What is missing has more digits than a grant can have. */
  | { kind: 'too_large' }

export type RefillBalance = (namespaceId: string, key: RefillConfigurationKey) => Promise<RefillOutcome>

export interface RefillBalanceDeps {
  pool: Pool
  usage: UsageReader
  /** The namespace's now. */
  nowOf: (namespaceId: string) => Promise<Date>
  log: Logger
  /** Told where refills get to. */
  reached?: Reached<RefillPoint>
}

/** Whoever changes grants of the balance waits meanwhile. */
const USAGE_MS = 5_000

/**
 * Refills one balance when it is below the minimum, up to the target, at most once for each time it falls below, however
 * many processes try at once. One transaction: the configuration's row is held, and what the balance is made of is read
 * only then, so every earlier refill is in it, and every grant, void and archiving whose time is before the refill's.
 * Usage may be stored after it was read; then less was granted, and the balance is looked at again.
 *
 * @throws when a database is away: nothing was granted
 * @see docs/decisions/0009-refills-follow-stored-usage.md
 */
export function refillBalance(deps: RefillBalanceDeps, limits: RefillLimits): RefillBalance {
  const { pool, log, reached = () => undefined } = deps
  return async (namespaceId, key) => {
    const where = { namespaceId, ...key }
    const outcome = await inNamespace(pool, namespaceId, async (db): Promise<RefillOutcome> => {
      const configuration = await refillConfigurationRepository(db).lock(namespaceId, key)
      if (configuration === undefined) return { kind: 'not_now' }
      await holdBalanceAlone(db, namespaceId, key.accountId, key.metricId)
      reached('refill-locked')
      const history = await refillRepository(db).findHistory(namespaceId, key, limits)
      const effectiveAt = refillInstant(await deps.nowOf(namespaceId), history.effectiveAt)
      const balance = await readBalance(db, deps.usage, namespaceId, key, effectiveAt)
      if (compareAmounts(balance.balance, configuration.minimumBalance) >= 0) return { kind: 'enough' }
      if (history.waitMs > 0) return { kind: 'too_soon', waitMs: history.waitMs }
      if (history.isDayFull) return { kind: 'day_full' }
      const amount = subtractAmounts(configuration.targetBalance, balance.balance)
      if (findAmountFault(formatAmount(amount)) !== undefined) return { kind: 'too_large' }
      reached('refill-computed')
      await grant(db, namespaceId, { configuration, balance, amount, effectiveAt }, reached)
      return { kind: 'refilled' }
    })
    if (outcome.kind === 'refilled') reached('refill-committed')
    tell(outcome, where, log)
    return outcome
  }
}

async function readBalance(
  db: PoolClient,
  usage: UsageReader,
  namespaceId: string,
  { accountId, metricId }: RefillConfigurationKey,
  at: Date,
): Promise<Balance> {
  const grantTotal = await grantRepository(db).sumInForce(namespaceId, accountId, metricId, at)
  const used = await withinUsageMs(
    usage.aggregate(namespaceId, { accountId, range: ALL_TIME, source: metricId }),
  )
  return balanceOf(accountId, metricId, grantTotal, used.get(metricId)?.sum ?? ZERO)
}

/** ClickHouse may take as long as it likes for an answer; those who wait for the lock may not. */
async function withinUsageMs<T>(answer: Promise<T>): Promise<T> {
  const late = new AbortController()
  const timeout = sleep(USAGE_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error(`usage could not be read within ${USAGE_MS} ms`)
  })
  timeout.catch(() => undefined) // when the answer is first
  try {
    return await Promise.race([answer, timeout])
  } finally {
    late.abort()
  }
}

interface DueRefill {
  configuration: LockedRefillConfiguration
  balance: Balance
  amount: Amount
  effectiveAt: Date
}

async function grant(
  db: PoolClient,
  namespaceId: string,
  { configuration, balance, amount, effectiveAt }: DueRefill,
  reached: Reached<RefillPoint>,
): Promise<void> {
  const { accountId, metricId, minimumBalance, targetBalance } = configuration
  const occurrence = configuration.occurrences + 1n
  const grantId = newId('grant')
  await grantRepository(db).insert(namespaceId, {
    id: grantId,
    accountId,
    source: metricId,
    amount,
    description: `Automatic refill: the balance was ${formatAmount(balance.balance)}, below the minimum of ${formatAmount(minimumBalance)}.`,
    contractId: null,
    effectiveAt,
    expiresAt: null,
  })
  reached('refill-granted')
  await refillRepository(db).insert(namespaceId, {
    ...{ accountId, metricId, occurrence, grantId, minimumBalance, targetBalance, amount, effectiveAt },
    grantTotal: balance.grantTotal,
    usageTotal: balance.usageTotal,
  })
  await refillConfigurationRepository(db).countOccurrence(namespaceId, configuration, occurrence)
  reached('refill-recorded')
}

function tell(
  outcome: RefillOutcome,
  where: RefillConfigurationKey & { namespaceId: string },
  log: Logger,
): void {
  switch (outcome.kind) {
    case 'refilled':
      log.info(where, 'refilled a balance')
      return
    case 'too_soon':
      log.info(
        { ...where, waitMs: outcome.waitMs },
        'a balance is below its minimum a moment after its last refill',
      )
      return
    case 'day_full':
      log.warn(
        where,
        'a balance is below its minimum and was refilled too often today: it is refilled no more',
      )
      return
    case 'too_large':
      log.error(
        where,
        'a balance is so far below its target that no grant can hold the difference: it is not refilled',
      )
      return
    case 'enough':
    case 'not_now':
      log.debug({ ...where, outcome: outcome.kind }, 'looked at a balance')
  }
}
