import { DomainError } from '../../shared/errors/domain-error.ts'
import { apiKeyRepository } from '../../shared/postgres/api-keys.ts'
import { type Company, companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'

/** @throws DomainError not_found when there is no such company */
export async function companyNamed(pool: Pool, name: string): Promise<Company> {
  const company = await companyRepository(pool).findByName(name)
  if (company === undefined) throw new DomainError('not_found', `there is no company ${JSON.stringify(name)}`)
  return company
}

/** @throws DomainError not_found when no company has such a key */
export async function companyOfKey(pool: Pool, keyId: string): Promise<Company> {
  const id = /^[0-9a-f-]{36}$/.test(keyId) ? await apiKeyRepository(pool).findCompany(keyId) : undefined
  const company = id === undefined ? undefined : await companyRepository(pool).find(id)
  if (company === undefined) throw new DomainError('not_found', `there is no key ${keyId}`)
  return company
}
