import { randomUUID } from 'node:crypto'
import { digestOfApiKey, type Permission } from '../../shared/domain/api-key.ts'
import { apiKeyRepository } from '../../shared/postgres/api-keys.ts'
import type { Queryable } from '../../shared/postgres/core/pool.ts'

interface KeyOfCompany {
  companyId: string
  key: string
  id?: string
  name?: string
  permissions?: Permission[]
}

/** Inserts a key of a company, without an end and without a creator. @returns its id */
export async function insertKey(
  db: Queryable,
  { companyId, key, id = randomUUID(), name = 'test', permissions = ['read:all', 'write:all'] }: KeyOfCompany,
): Promise<string> {
  await apiKeyRepository(db).insert({
    id,
    companyId,
    name,
    digest: digestOfApiKey(key),
    lastCharacters: key.slice(-4),
    permissions,
    accountId: null,
    expiresAt: null,
    issuedBy: null,
  })
  return id
}
