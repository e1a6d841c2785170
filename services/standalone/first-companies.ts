import { digestOfApiKey, newApiKey, PERMISSIONS, type Mode } from '../../shared/domain/api-key.ts'
import { newUuid } from '../../shared/domain/ids.ts'
import { apiKeyRepository } from '../../shared/postgres/api-keys.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { withTransaction } from '../../shared/postgres/transaction.ts'
import { writeSecretFile } from '../../shared/config/secret-file.ts'

/** A company that a new installation starts with, and the file its key is written to. */
export interface FirstCompany {
  name: string
  mode: Mode
  keyFile: string
}

/**
 * Makes the companies of a new installation, each with a key that may do everything. The key is in its file before it
 * becomes valid: after a crash in between there is a file with a key that nobody knows, and the next start writes another.
 * Companies that exist are left alone.
 */
export async function makeFirstCompanies(pool: Pool, companies: readonly FirstCompany[]): Promise<void> {
  for (const company of companies) {
    if ((await companyRepository(pool).findByName(company.name)) !== undefined) continue
    const key = newApiKey(company.mode)
    await writeSecretFile(company.keyFile, `${key}\n`)
    await withTransaction(pool, async (db) => {
      const companyId = newUuid()
      await companyRepository(db).insert({
        id: companyId,
        name: company.name,
        mode: company.mode,
        namespaceId: newUuid(),
      })
      await apiKeyRepository(db).insert({
        id: newUuid(),
        companyId,
        name: 'first key',
        digest: digestOfApiKey(key),
        lastCharacters: key.slice(-4),
        permissions: PERMISSIONS,
        expiresAt: null,
      })
    })
  }
}
