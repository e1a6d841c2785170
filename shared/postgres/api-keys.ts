import type { Caller, Mode, Permission } from '../domain/api-key.ts'
import type { Queryable } from './pool.ts'

export interface NewApiKey {
  id: string
  companyId: string
  name: string
  digest: Buffer
  /** The last four characters of the secret, by which its owner tells keys apart. */
  lastCharacters: string
  permissions: readonly Permission[]
  expiresAt: Date | null
}

/** A key as it is listed: never its secret. */
export interface ApiKey extends Omit<NewApiKey, 'digest'> {
  createdAt: Date
  revokedAt: Date | null
}

interface ApiKeyRow {
  key_id: string
  company_id: string
  name: string
  last_characters: string
  permissions: Permission[]
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
}

interface CallerRow {
  key_id: string
  company_id: string
  namespace_id: string
  mode: Mode
  permissions: Permission[]
}

const INSERT = `
  INSERT INTO api_keys (key_id, company_id, name, digest, last_characters, permissions, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`
const FIND_CALLER = `
  SELECT k.key_id, k.company_id, n.namespace_id, c.mode, k.permissions FROM api_keys k
  JOIN companies c ON c.company_id = k.company_id
  JOIN namespaces n ON n.company_id = k.company_id AND n.retired_at IS NULL
  WHERE k.digest = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())`
const LIST = `
  SELECT key_id, company_id, name, last_characters, permissions, created_at, expires_at, revoked_at FROM api_keys
  WHERE company_id = $1 ORDER BY created_at, key_id`
const REVOKE = `
  WITH old AS (SELECT key_id, revoked_at FROM api_keys WHERE key_id = $1 FOR UPDATE)
  UPDATE api_keys k SET revoked_at = coalesce(old.revoked_at, clock_timestamp()) FROM old
  WHERE k.key_id = old.key_id RETURNING old.revoked_at AS before, k.digest`

export const apiKeyRepository = (db: Queryable) => ({
  async insert(key: NewApiKey): Promise<void> {
    const { id, companyId, name, digest, lastCharacters, permissions, expiresAt } = key
    await db.query(INSERT, [id, companyId, name, digest, lastCharacters, permissions, expiresAt])
  },

  /** Whose key this is, if it is one that may be used now. */
  async findCaller(digest: Buffer): Promise<Caller | undefined> {
    const { rows } = await db.query<CallerRow>({ name: 'find-caller', text: FIND_CALLER, values: [digest] })
    return rows.map(callerFromRow)[0]
  },

  async list(companyId: string): Promise<ApiKey[]> {
    const { rows } = await db.query<ApiKeyRow>(LIST, [companyId])
    return rows.map(apiKeyFromRow)
  },

  /**
   * Revoking again changes nothing.
   *
   * @returns when it was revoked before, if it was, and by what it is known to caches; undefined when there is no such key
   */
  async revoke(keyId: string): Promise<{ before: Date | null; digest: Buffer } | undefined> {
    const { rows } = await db.query<{ before: Date | null; digest: Buffer }>(REVOKE, [keyId])
    return rows[0]
  },
})

const callerFromRow = (row: CallerRow): Caller => ({
  keyId: row.key_id,
  companyId: row.company_id,
  namespaceId: row.namespace_id,
  mode: row.mode,
  permissions: row.permissions,
})

const apiKeyFromRow = (row: ApiKeyRow): ApiKey => ({
  id: row.key_id,
  companyId: row.company_id,
  name: row.name,
  lastCharacters: row.last_characters,
  permissions: row.permissions,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
})
