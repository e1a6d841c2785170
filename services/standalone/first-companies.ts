import { writeSecretFile } from '../../shared/config/secret-file.ts'
import { type Mode, newApiKey, PERMISSIONS } from '../../shared/domain/api-key.ts'
import { issueKey } from '../../shared/keys/issue-key.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { makeCompany } from '../../shared/postgres/make-company.ts'

/** A company that a new installation starts with, and the file its key is written to. */
export interface FirstCompany {
  name: string
  mode: Mode
  keyFile: string
}

/**
 * Makes the companies of a new installation, each with a key that may do everything. The key is in its file before it
 * becomes valid: after a crash in between there is a file with a key that nobody knows, and the next start writes
 * another. Companies that exist are left alone.
 */
export async function makeFirstCompanies(pool: Pool, companies: readonly FirstCompany[]): Promise<void> {
  for (const { name, mode, keyFile } of companies) {
    if ((await companyRepository(pool).findByName(name)) !== undefined) continue
    const secret = newApiKey(mode)
    await writeSecretFile(keyFile, `${secret}\n`)
    await makeCompany(pool, { name, mode }, async (db, companyId) => {
      const terms = { permissions: PERMISSIONS, expiresAt: null }
      await issueKey(db, null, { companyId, name: 'first key', secret, ...terms })
    })
  }
}
