import type { simulatedUsageReader } from '../../../shared/clickhouse/usage/simulated-usage.ts'
import { unknownCursor } from '../../../shared/domain/page.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { accountRepository, findAccounts } from '../../../shared/postgres/accounts.ts'
import { contractLineRepository } from '../../../shared/postgres/contract-lines.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'

/** Simulations of more accounts are refused, because a request has only some seconds. */
const ACCOUNTS_MAX = 100_000

export interface AccountsWanted {
  range: TimeRange
  /** Undefined: all accounts that used something in the range, or follow a card at some second of it. */
  accountIds: readonly string[] | undefined
  /** Leaves out accounts that follow a card in another currency when the range begins; undefined: leaves out none. */
  currency: string | undefined
  startingAfter: string | undefined
}

export interface SimulatedAccounts {
  /** The accounts, in order of their ids. */
  ids: string[]
  /** How many accounts were left out because of their currency. */
  inOtherCurrencies: number
}

/**
 * Lists the accounts of a simulation.
 *
 * @param signal ends the wait for the read of usage
 * @throws DomainError unprocessable for an account that does not exist or cannot be compared, and for too many
 *   accounts; malformed when startingAfter is not one of the accounts; overloaded when too many reads run at once
 */
export async function listSimulatedAccounts(
  pool: Pool,
  usage: Pick<ReturnType<typeof simulatedUsageReader>, 'listAccounts'>,
  namespaceId: string,
  { range, accountIds, currency, startingAfter }: AccountsWanted,
  signal: AbortSignal,
): Promise<SimulatedAccounts> {
  const { followers, others } = await inNamespace(pool, namespaceId, async (db) => {
    if (startingAfter !== undefined) {
      const isAccount = (await accountRepository(db).find(namespaceId, startingAfter)) !== undefined
      if (!isAccount || accountIds?.includes(startingAfter) === false) throw unknownCursor()
    }
    const lines = contractLineRepository(db)
    return {
      followers:
        accountIds === undefined ? await lines.listFollowers(namespaceId, range, ACCOUNTS_MAX + 1) : [],
      others:
        currency === undefined
          ? new Set<string>()
          : await lines.listFollowersInOthers(namespaceId, range.startAt, currency),
    }
  })
  if (accountIds !== undefined) {
    await requireAccounts(pool, namespaceId, accountIds, others)
    return { ids: accountIds.toSorted(), inOtherCurrencies: 0 }
  }
  const users = await usage.listAccounts(namespaceId, range, ACCOUNTS_MAX + 1, signal)
  const all = [...new Set([...followers, ...users])].sort()
  if (all.length > ACCOUNTS_MAX)
    throw new DomainError(
      'unprocessable',
      `more than ${ACCOUNTS_MAX} accounts used something or follow a card between start_at and end_at: name some as account_ids`,
    )
  const ids = all.filter((id) => !others.has(id))
  return { ids, inOtherCurrencies: all.length - ids.length }
}

async function requireAccounts(
  pool: Pool,
  namespaceId: string,
  accountIds: readonly string[],
  others: ReadonlySet<string>,
): Promise<void> {
  const found = await findAccounts(
    pool,
    accountIds.map((accountId) => ({ namespaceId, accountId })),
  )
  for (const [index, accountId] of accountIds.entries()) {
    if (found[index] === undefined)
      throw new DomainError('unprocessable', `account_ids[${index}]: there is no such account`)
    if (others.has(accountId))
      throw new DomainError(
        'unprocessable',
        `account_ids[${index}]: at start_at the account follows a card in another currency, which cannot be compared`,
      )
  }
}
