import {
  type Amount,
  compareAmounts,
  findAmountFault,
  formatAmount,
  subtractAmounts,
} from '../../shared/amount/amount.ts'
import type { AccountSumsReader } from '../../shared/clickhouse/usage/account-sums.ts'
import { type Balance, balanceIn } from '../../shared/domain/balance.ts'
import { newId } from '../../shared/domain/ids.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Pool, PoolClient, Queryable } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { grantRepository, sumGrantsOfAccounts } from '../../shared/postgres/grants.ts'
import { lockBalances } from '../../shared/postgres/locks/balance-lock.ts'
import {
  type LockedRefillConfiguration,
  type RefillConfigurationKey,
  refillConfigurationRepository,
} from '../../shared/postgres/refill-configurations.ts'
import { type RefillHistory, type RefillLimits, refillRepository } from '../../shared/postgres/refills.ts'
import { withinMs } from '../../shared/time/within-ms.ts'
import type { RefillPoint } from './crash-points.ts'
import { refillInstant } from './refill-instant.ts'

/** The outcome of a check of a balance under its lock. */
export type RefillOutcome =
  | { kind: 'refilled' }
  /** The balance is not below the minimum, or is not below it any more. */
  | { kind: 'enough' }
  /** Another process refills the balance now, or the configuration is being changed, or is not active any more. */
  | { kind: 'not_now' }
  /** The shortest time between two refills has not passed yet. */
  | { kind: 'too_soon'; waitMs: number }
  /** The maximum number of refills within a day is reached. */
  | { kind: 'day_full' }
  /** The missing amount has more digits than a grant can have. */
  | { kind: 'too_large' }

/** @returns the outcome for each key, in the order given */
export type RefillBalances = (
  namespaceId: string,
  keys: readonly RefillConfigurationKey[],
) => Promise<RefillOutcome[]>

/** The current time in a namespace. */
export type NowOf = (db: Queryable, namespaceId: string) => Promise<Date>

export interface RefillBalancesDeps {
  pool: Pool
  usage: Pick<AccountSumsReader, 'sumByAccount'>
  nowOf: NowOf
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<RefillPoint>
}

/** The longest time that ClickHouse may take for an answer. Changes to grants of the balances wait during that time. */
const USAGE_MS = 5_000

/**
 * Refills balances of a namespace that are below their minimum, up to the target. Each time a balance falls below its
 * minimum, it is refilled at most once, even when several processes try at once. All of this is one transaction. It
 * locks the configurations' rows, and only then reads grants and usage. So it reads every earlier refill, and every
 * grant, void and archiving from before the refill's time. If usage is stored after the read, the grant does not cover
 * this usage, and the balance is checked again.
 *
 * Why several balances at once: they need no more queries to ClickHouse than one balance, and the queries are the slow
 * step.
 *
 * @throws when a database does not answer; then nothing was granted
 * @see docs/decisions/0009-refills-follow-stored-usage.md
 */
export function refillBalances(deps: RefillBalancesDeps, limits: RefillLimits): RefillBalances {
  const { pool, log, reached = () => undefined } = deps
  return async (namespaceId, keys) => {
    const outcomes = await inNamespace(pool, namespaceId, async (db) => {
      const configurations = await refillConfigurationRepository(db).lock(namespaceId, keys)
      if (configurations.length === 0) return new Map<string, RefillOutcome>()
      await lockBalances(db, namespaceId, configurations)
      reached('refill-locked')
      const balances = await readBalances(db, deps, namespaceId, configurations, limits)
      const due = balances.filter(({ outcome }) => outcome.kind === 'refilled')
      if (due.length > 0) reached('refill-computed')
      for (const refill of due) await grant(db, namespaceId, refill, reached)
      return new Map(balances.map(({ configuration, outcome }) => [nameOf(configuration), outcome]))
    })
    if ([...outcomes.values()].some(({ kind }) => kind === 'refilled')) reached('refill-committed')
    return keys.map((key) => {
      const outcome = outcomes.get(nameOf(key)) ?? { kind: 'not_now' }
      tell(outcome, { namespaceId, ...key }, log)
      return outcome
    })
  }
}

const nameOf = ({ accountId, metricId }: RefillConfigurationKey): string => `${accountId} ${metricId}`

/** A balance that was read under its lock, and its outcome. */
interface ReadBalance {
  configuration: LockedRefillConfiguration
  balance: Balance
  /** The amount missing to the target. */
  amount: Amount
  effectiveAt: Date
  outcome: RefillOutcome
}

async function readBalances(
  db: PoolClient,
  { usage, nowOf }: RefillBalancesDeps,
  namespaceId: string,
  configurations: readonly LockedRefillConfiguration[],
  limits: RefillLimits,
): Promise<ReadBalance[]> {
  const histories = await refillRepository(db).listHistories(namespaceId, configurations, limits)
  const last = histories.map(({ effectiveAt }) => effectiveAt)
  const effectiveAt = refillInstant(await nowOf(db, namespaceId), last)
  const accountIds = [...new Set(configurations.map(({ accountId }) => accountId))]
  const granted = await sumGrantsOfAccounts(db, namespaceId, accountIds, effectiveAt)
  const used = await withinMs(
    USAGE_MS,
    usage.sumByAccount(namespaceId, accountIds),
    `usage could not be read within ${USAGE_MS} ms`,
  )
  return configurations.map((configuration, n) => {
    const { accountId, metricId, targetBalance } = configuration
    const balance = balanceIn(granted, used, accountId, metricId)
    const amount = subtractAmounts(targetBalance, balance.balance)
    const outcome = judge(configuration, balance, amount, histories[n])
    return { configuration, balance, amount, effectiveAt, outcome }
  })
}

/** Decides whether a balance is refilled now. */
function judge(
  { minimumBalance }: LockedRefillConfiguration,
  { balance }: Balance,
  amount: Amount,
  history: RefillHistory | undefined,
): RefillOutcome {
  if (compareAmounts(balance, minimumBalance) >= 0) return { kind: 'enough' }
  if (history !== undefined && history.waitMs > 0) return { kind: 'too_soon', waitMs: history.waitMs }
  if (history?.isDayFull === true) return { kind: 'day_full' }
  if (findAmountFault(formatAmount(amount)) !== undefined) return { kind: 'too_large' }
  return { kind: 'refilled' }
}

async function grant(
  db: PoolClient,
  namespaceId: string,
  { configuration, balance, amount, effectiveAt }: ReadBalance,
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
        'a balance is below its minimum shortly after its last refill: the balance will be checked again after waitMs',
      )
      return
    case 'day_full':
      log.warn(
        where,
        'a balance is below its minimum and not refilled, because it had the maximum number of refills in the last 24 hours',
      )
      return
    case 'too_large':
      log.error(
        where,
        'a balance is not refilled, because the difference to its target has too many digits for a grant',
      )
      return
    case 'enough':
    case 'not_now':
      log.debug({ ...where, outcome: outcome.kind }, 'checked a balance')
  }
}
