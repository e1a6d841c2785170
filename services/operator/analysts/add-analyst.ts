import {
  ANALYST_NAME_FORM,
  digestOfPassword,
  isAnalystName,
  newAnalystPassword,
} from '../../../shared/domain/analyst.ts'
import { newUuid } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import {
  type AnalystDatabase,
  analystDatabaseRepository,
  analystRepository,
} from '../../../shared/postgres/analysts.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import type { Company } from '../../../shared/postgres/companies.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'

/**
 * Gives a company the database of its analysts, unless it has one.
 *
 * @param numbersMax how many companies may have one
 * @throws DomainError conflict when that many have one
 */
export async function enterCompany(
  pool: Pool,
  company: Company,
  numbersMax: number,
): Promise<AnalystDatabase> {
  const entered = await inNamespace(pool, company.namespaceId, (db) =>
    analystDatabaseRepository(db).enter(company.id, numbersMax),
  )
  if (entered !== undefined) return entered
  throw new DomainError(
    'conflict',
    `${numbersMax} companies have analysts of their own, and the embedded ClickHouse takes no more: use a ClickHouse server (CLICKHOUSE_URL)`,
  )
}

/** @throws UsageError when no analyst may have this name */
export function requireAnalystName(name: string | undefined): string {
  if (name === undefined) throw new UsageError('--name is required')
  if (isAnalystName(name)) return name
  throw new UsageError(`--name must have ${ANALYST_NAME_FORM}; not analyst or default`)
}

/**
 * Makes an analyst of a company that has a database, and records that an operator did so.
 *
 * @returns the password, which is stored nowhere
 * @throws DomainError conflict when another analyst has the name
 */
export async function addAnalyst(pool: Pool, company: Company, name: string): Promise<string> {
  const [id, password] = [newUuid(), newAnalystPassword()]
  await inNamespace(pool, company.namespaceId, async (db) => {
    await analystRepository(db).insert({
      id,
      companyId: company.id,
      name,
      digest: digestOfPassword(password),
    })
    await auditTrailRepository(db).insert({
      companyId: company.id,
      keyId: null,
      action: 'analyst.added',
      resourceId: id,
      changes: { name },
    })
  })
  return password
}
