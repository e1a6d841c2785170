import { newId } from '../../../shared/domain/ids.ts'
import { type Operation, operation } from '../../../shared/http/operation.ts'
import { accountRepository } from '../../../shared/postgres/accounts.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import { pageOf } from '../core/body-fields.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { accountToBody } from './body.ts'
import { getAccount } from './get-account.ts'

/** Operations on accounts. Each usage event is reported against an account. */
export const accountOperations = (
  { read, change, once }: NamespaceOperations,
  { findAccount }: BatchedReads,
): Operation[] => [
  once('createAccount', { action: 'account.created', toBody: accountToBody }, ({ db, namespaceId, body }) =>
    accountRepository(db).insert(namespaceId, {
      id: newId('account'),
      name: body.name,
      description: body.description ?? null,
      externalId: body.external_id ?? null,
      customerId: body.service_customer_id?.toLowerCase() ?? null,
    }),
  ),
  read('listAccounts', pageOf(accountToBody), ({ db, namespaceId, query }) =>
    accountRepository(db).list(
      namespaceId,
      query.sort,
      { query: query.query, customerId: query.service_customer_id, isArchived: query.is_archived },
      pageIn(query),
    ),
  ),
  operation('getAccount', async ({ caller: { namespaceId }, params }) =>
    accountToBody(await getAccount(findAccount, { namespaceId, accountId: params.account_id })),
  ),
  read('getAccountByExternalId', accountToBody, ({ db, namespaceId, params }) =>
    accountRepository(db).findByExternalId(namespaceId, params.external_id),
  ),
  change(
    'updateAccount',
    { action: 'account.changed', toBody: accountToBody },
    ({ db, namespaceId, params, body }) =>
      accountRepository(db).update(namespaceId, params.account_id, {
        name: body.name,
        description: body.description,
        externalId: body.external_id,
        customerId: body.service_customer_id,
      }),
  ),
  change(
    'archiveAccount',
    { action: 'account.archived', toBody: accountToBody },
    ({ db, namespaceId, params }) => accountRepository(db).archive(namespaceId, params.account_id),
  ),
  change(
    'unarchiveAccount',
    { action: 'account.unarchived', toBody: accountToBody },
    ({ db, namespaceId, params }) => accountRepository(db).unarchive(namespaceId, params.account_id),
  ),
]
