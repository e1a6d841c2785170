import { parseAmount } from '../../../shared/amount/amount.ts'
import type { Grant } from '../../../shared/domain/grant.ts'
import { newId } from '../../../shared/domain/ids.ts'
import type { Page } from '../../../shared/domain/page.ts'
import { isMetric } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Operation, RequestOf } from '../../../shared/http/operation.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { type GrantFilter, grantRepository, type NewGrant } from '../../../shared/postgres/grants.ts'
import { requestRefill } from '../../../shared/postgres/refill-requests.ts'
import { pageToBody } from '../core/body-fields.ts'
import { optionalSource, requiredSource } from '../core/named-source.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { grantToBody } from './body.ts'

const toBody = (grant: Grant, { clock }: { clock: () => Date }) => grantToBody(grant, clock())

/** Operations on grants, the credit of accounts. */
export const grantOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once('createGrant', { action: 'grant.created', toBody }, async ({ db, namespaceId, body }) =>
    requestRefillOf(db, namespaceId, await grantRepository(db).insert(namespaceId, newGrantOf(body))),
  ),
  read(
    'listGrants',
    (page: Page<Grant>, { clock }) => {
      const now = clock()
      return pageToBody(page, (grant) => grantToBody(grant, now))
    },
    ({ db, namespaceId, query, clock }) =>
      grantRepository(db).list(namespaceId, filterOf(query, clock()), pageIn(query)),
  ),
  read('getGrant', toBody, ({ db, namespaceId, params }) =>
    grantRepository(db).find(namespaceId, params.grant_id),
  ),
  change('voidGrant', { action: 'grant.voided', toBody }, async ({ db, namespaceId, params }) =>
    requestRefillOf(db, namespaceId, await grantRepository(db).void(namespaceId, params.grant_id)),
  ),
  change('archiveGrant', { action: 'grant.archived', toBody }, async ({ db, namespaceId, params }) =>
    requestRefillOf(db, namespaceId, await grantRepository(db).archive(namespaceId, params.grant_id)),
  ),
]

/** @throws DomainError unprocessable unless the body names exactly one source and the grant ends after it starts */
function newGrantOf(body: RequestOf<'createGrant'>['body']): NewGrant {
  const source = requiredSource(body, 'unprocessable')
  const { effective_at: effectiveAt, expires_at: expiresAt } = body
  if (expiresAt !== undefined && expiresAt <= effectiveAt)
    throw new DomainError('unprocessable', 'expires_at: must be after effective_at')
  return {
    id: newId('grant'),
    accountId: body.account_id,
    source,
    amount: parseAmount(body.amount),
    description: body.description ?? null,
    contractId: body.contract_v1_id ?? null,
    effectiveAt: new Date(effectiveAt * 1_000),
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt * 1_000),
  }
}

/**
 * @param now the time at which a grant must have the status
 * @throws DomainError malformed when the query names a metric and a currency, because no grant has both
 */
function filterOf(query: RequestOf<'listGrants'>['query'], now: Date): GrantFilter {
  const { account_id: accountId, contract_v1_id: contractId, status: is } = query
  const status = is === undefined ? undefined : { is, at: now }
  return { accountId, source: optionalSource(query, 'malformed'), contractId, status }
}

/**
 * Requests a check of the balance that includes the grant, because the balance may be lower now.
 * @returns the grant
 */
async function requestRefillOf<T extends Grant | undefined>(
  db: PoolClient,
  namespaceId: string,
  grant: T,
): Promise<T> {
  if (grant !== undefined && isMetric(grant.source))
    await requestRefill(db, { namespaceId, accountId: grant.accountId, metricId: grant.source })
  return grant
}
