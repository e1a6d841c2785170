import { DomainError } from '../../shared/errors/domain-error.ts'
import { apiKeyRepository } from '../../shared/postgres/api-keys.ts'
import { type Company, companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'

/** How many names a message has at most. */
const NAMES_MAX = 10

/** @throws DomainError not_found when there is no such company; it says which ones there are */
export async function companyNamed(pool: Pool, name: string): Promise<Company> {
  const companies = companyRepository(pool)
  const company = await companies.findByName(name)
  if (company !== undefined) return company
  const names = (await companies.list()).map((one) => JSON.stringify(one.name))
  const more = names.length > NAMES_MAX ? `, and ${names.length - NAMES_MAX} more` : ''
  throw new DomainError(
    'not_found',
    `there is no company ${JSON.stringify(name)}; there are: ${names.slice(0, NAMES_MAX).join(', ')}${more}`,
  )
}

/** @throws DomainError not_found when no company has such a key */
export async function companyOfKey(pool: Pool, keyId: string): Promise<Company> {
  const id = /^[0-9a-f-]{36}$/.test(keyId) ? await apiKeyRepository(pool).findCompany(keyId) : undefined
  const company = id === undefined ? undefined : await companyRepository(pool).find(id)
  if (company === undefined) throw new DomainError('not_found', `there is no key ${keyId}`)
  return company
}
