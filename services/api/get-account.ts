import type { Account } from '../../shared/domain/resources.ts'
import { DomainError } from '../../shared/errors/domain-error.ts'
import { accountRepository } from '../../shared/postgres/accounts.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'

/** @throws DomainError not_found when there is no such account */
export async function getAccount(pool: Pool, namespaceId: string, accountId: string): Promise<Account> {
  const account = await inNamespace(pool, namespaceId, (db) =>
    accountRepository(db).find(namespaceId, accountId),
  )
  if (account === undefined) throw new DomainError('not_found', `no account ${accountId}`)
  return account
}
