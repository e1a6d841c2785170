import { writeSecretFile } from '../../shared/config/secret-file.ts'
import { type Mode, newApiKey, PERMISSIONS } from '../../shared/domain/api-key.ts'
import { issueKey } from '../../shared/keys/issue-key.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { makeCompany } from '../../shared/postgres/make-company.ts'

/** A company of a new installation, and the file with its key. */
export interface FirstCompany {
  name: string
  mode: Mode
  keyFile: string
}

/**
 * Makes the companies of a new installation, each with a key that has all permissions. The key is written to its file
 * before it becomes valid. After a crash in between, the key in the file is not valid, and the next start writes
 * another one. Companies that exist are not changed.
 */
export async function makeFirstCompanies(pool: Pool, companies: readonly FirstCompany[]): Promise<void> {
  for (const { name, mode, keyFile } of companies) {
    if ((await companyRepository(pool).findByName(name)) !== undefined) continue
    const secret = newApiKey(mode)
    await writeSecretFile(keyFile, `${secret}\n`)
    await makeCompany(pool, { name, mode }, async (db, companyId) => {
      const terms = { permissions: PERMISSIONS, accountId: null, expiresAt: null }
      await issueKey(db, null, { companyId, name: 'first key', secret, ...terms })
    })
  }
}
