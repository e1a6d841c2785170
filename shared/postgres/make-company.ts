import type { Mode } from '../domain/api-key.ts'
import { newUuid } from '../domain/ids.ts'
import { auditTrailRepository } from './audit-trail.ts'
import { companyRepository } from './companies.ts'
import type { Pool, PoolClient } from './core/pool.ts'
import { inNamespace } from './core/transaction.ts'

/**
 * Makes a company with its first namespace, and records in the audit trail that an operator did so.
 *
 * @param andThen further work in the same transaction
 * @returns the id of the company
 * @throws DomainError conflict when another company has the name
 */
export async function makeCompany(
  pool: Pool,
  company: { name: string; mode: Mode },
  andThen: (db: PoolClient, companyId: string) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const [id, namespaceId] = [newUuid(), newUuid()]
  await inNamespace(pool, namespaceId, async (db) => {
    await companyRepository(db).insert({ id, namespaceId, ...company })
    await auditTrailRepository(db).insert({
      companyId: id,
      keyId: null,
      action: 'company.created',
      resourceId: id,
      changes: company,
    })
    await andThen(db, id)
  })
  return id
}
