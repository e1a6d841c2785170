import type { Account } from '../../../shared/domain/account.ts'
import type { AccountKey } from '../../../shared/domain/account-key.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'

/** @throws DomainError not_found when there is no such account */
export async function getAccount(
  findAccount: BatchedReads['findAccount'],
  key: AccountKey,
): Promise<Account> {
  const account = await findAccount(key)
  if (account === undefined) throw new DomainError('not_found', `no account ${key.accountId}`)
  return account
}
