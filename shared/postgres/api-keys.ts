import type { FoundCaller, Mode, Permission } from '../domain/api-key.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import type { Company } from './companies.ts'
import type { Queryable } from './core/pool.ts'
import { lockCreation } from './locks/creation-lock.ts'

export interface NewApiKey {
  id: string
  companyId: string
  name: string
  digest: Buffer
  /** The last four characters of the secret, by which the owner recognizes a key. */
  lastCharacters: string
  permissions: readonly Permission[]
  /** The only account that the key may see; null for a key of the whole company. */
  accountId: string | null
  expiresAt: Date | null
  /** The key that issued this one; null when an operator issued it. */
  issuedBy: string | null
}

/** A key as lists show it, without its secret. */
export interface ApiKey extends Omit<NewApiKey, 'digest'> {
  createdAt: Date
  revokedAt: Date | null
  /** The key that replaced this one; null unless it was rotated. */
  replacedBy: string | null
  /** Accurate to the minute. */
  lastUsedAt: Date | null
}

export type ApiKeyStatus = 'active' | 'expired' | 'revoked'

export function apiKeyStatus({ revokedAt, expiresAt }: ApiKey, now: Date): ApiKeyStatus {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active'
}

/** A key that expires soon, and its company. */
export interface EndingKey extends Pick<ApiKey, 'id' | 'name'> {
  company: string
  expiresAt: Date
  /** Whether the key was rotated. It is still used. */
  isReplaced: boolean
}

/** A key and its company. */
export interface KeyAndCompany {
  key: ApiKey
  company: Pick<Company, 'id' | 'name' | 'mode'>
}

/** A key whose row is locked until the transaction ends. */
export interface LockedApiKey extends ApiKey {
  digest: Buffer
  /** Whether the key is valid now, by the database's clock, which is read after the row was locked. */
  isUsable: boolean
}

interface ApiKeyRow {
  key_id: string
  company_id: string
  name: string
  last_characters: string
  permissions: Permission[]
  account_id: string | null
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  issued_by: string | null
  replaced_by: string | null
  last_used_at: Date | null
}

interface LockedRow extends ApiKeyRow {
  digest: Buffer
  is_usable: boolean
}

interface EndingRow {
  key_id: string
  name: string
  company: string
  expires_at: Date
  is_replaced: boolean
}

interface CallerRow {
  digest: Buffer
  key_id: string
  company_id: string
  namespace_id: string
  mode: Mode
  permissions: Permission[]
  account_id: string | null
  ends_in_ms: number | null
}

const COLUMNS = `key_id, company_id, name, last_characters, permissions, account_id, created_at, expires_at, revoked_at,
  issued_by, replaced_by, last_used_at`
const INSERT = `
  INSERT INTO api_keys (key_id, company_id, name, digest, last_characters, permissions, account_id, expires_at, issued_by)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  RETURNING ${COLUMNS}`
const FIND_CALLERS = `
  SELECT k.digest, k.key_id, k.company_id, n.namespace_id, c.mode, k.permissions, k.account_id,
    (extract(epoch FROM k.expires_at - at) * 1000)::float8 AS ends_in_ms
  FROM api_keys k
  JOIN companies c ON c.company_id = k.company_id
  JOIN namespaces n ON n.company_id = k.company_id AND n.retired_at IS NULL
  CROSS JOIN LATERAL clock_timestamp() AS at
  WHERE k.digest = ANY ($1) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > at)`
const FIND = `SELECT ${COLUMNS} FROM api_keys WHERE company_id = $1 AND key_id = $2`
const FIND_WITH_COMPANY = `
  SELECT k.*, c.name AS company, c.mode
  FROM (SELECT ${COLUMNS} FROM api_keys WHERE key_id = $1) AS k JOIN companies AS c USING (company_id)`
const FIND_COMPANY = 'SELECT company_id FROM api_keys WHERE key_id = $1'
const listStatement = (ofAccount: string): string => `
  SELECT ${COLUMNS} FROM api_keys WHERE company_id = $1 AND ${ofAccount}
    AND ($3::uuid IS NULL OR (created_at, key_id) >
      (SELECT created_at, key_id FROM api_keys WHERE company_id = $1 AND key_id = $3))
  ORDER BY created_at, key_id LIMIT $2`
// Rows are locked in one fixed order, so that two transactions that lock the same keys do not deadlock. The time is
// read after the rows were locked.
const LOCK = `
  WITH locked AS MATERIALIZED (
    SELECT ${COLUMNS}, digest FROM api_keys WHERE company_id = $1 AND key_id = ANY ($2::uuid[])
    ORDER BY key_id FOR NO KEY UPDATE)
  SELECT *, revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp()) AS is_usable FROM locked`
// A rotation never makes the old key valid for longer.
const REPLACE = `
  UPDATE api_keys SET replaced_by = $3, expires_at = least(expires_at, coalesce($4, clock_timestamp() + $5 * interval '1 second'))
  WHERE company_id = $1 AND key_id = $2
  RETURNING ${COLUMNS}`
const REVOKE = `
  UPDATE api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp())
  WHERE company_id = $1 AND key_id = $2
  RETURNING ${COLUMNS}, digest, false AS is_usable`
const LIST_ENDING = `
  SELECT k.key_id, k.name, c.name AS company, k.expires_at, k.replaced_by IS NOT NULL AS is_replaced
  FROM api_keys k
  JOIN companies c ON c.company_id = k.company_id
  LEFT JOIN api_keys s ON s.key_id = k.replaced_by
  WHERE k.account_id IS NULL AND k.revoked_at IS NULL AND k.expires_at > clock_timestamp()
    AND k.expires_at <= clock_timestamp() + $1 * interval '1 day'
    AND (k.replaced_by IS NULL OR k.last_used_at > s.created_at + interval '1 minute')
  ORDER BY k.expires_at LIMIT $2`
// Locked rows are skipped, so that this statement does not wait for a transaction that changes a key. The use is then
// recorded the next time.
const NOTE_USES = `
  WITH used AS (
    SELECT k.key_id, clock_timestamp() - u.age_ms * interval '1 millisecond' AS at
    FROM unnest($1::uuid[], $2::float8[]) AS u (key_id, age_ms) JOIN api_keys k ON k.key_id = u.key_id
    ORDER BY k.key_id FOR NO KEY UPDATE OF k SKIP LOCKED)
  UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, used.at) FROM used WHERE k.key_id = used.key_id`

export const apiKeyRepository = (db: Queryable) => ({
  /**
   * Inserts a key, within a transaction. Keys of a company are created one after the other, so that a reader that
   * follows the list misses none.
   */
  async insert(key: NewApiKey): Promise<ApiKey> {
    await lockCreation(db, 'api_keys', key.companyId)
    return (await findOne(db, INSERT, valuesOf(key))) as ApiKey
  },

  /** Finds the callers that these keys belong to, in the given order; undefined for a key that is not valid now. */
  async findCallers(digests: readonly Buffer[]): Promise<(FoundCaller | undefined)[]> {
    const { rows } = await db.query<CallerRow>({
      name: 'find-callers',
      text: FIND_CALLERS,
      values: [digests],
    })
    const found = new Map(rows.map((row) => [row.digest.toString('hex'), callerFromRow(row)]))
    return digests.map((digest) => found.get(digest.toString('hex')))
  },

  find: (companyId: string, keyId: string) => findOne(db, FIND, [companyId, keyId]),

  /** Finds a key and its company; undefined when there is none. */
  async findWithCompany(keyId: string): Promise<KeyAndCompany | undefined> {
    const { rows } = await db.query<ApiKeyRow & { company: string; mode: Mode }>(FIND_WITH_COMPANY, [keyId])
    return rows.map((row) => ({
      key: apiKeyFromRow(row),
      company: { id: row.company_id, name: row.company, mode: row.mode },
    }))[0]
  },

  /** Finds the id of a key's company; undefined when there is no such key. */
  async findCompany(keyId: string): Promise<string | undefined> {
    const { rows } = await db.query<Pick<ApiKeyRow, 'company_id'>>(FIND_COMPANY, [keyId])
    return rows[0]?.company_id
  },

  /**
   * Lists the keys of a company in order of creation.
   *
   * @param accountId lists the keys of this account; undefined lists the keys of the whole company
   * @throws DomainError malformed when startingAfter is no key of the list
   */
  list: (companyId: string, page: PageRequest, accountId?: string) =>
    listKeys(db, companyId, page, accountId),

  /** Locks these keys of a company, in order of their ids, until the transaction ends. Within a transaction. */
  async lock(companyId: string, keyIds: readonly string[]): Promise<Map<string, LockedApiKey>> {
    const { rows } = await db.query<LockedRow>(LOCK, [companyId, keyIds])
    return new Map(rows.map((row) => [row.key_id, lockedFromRow(row)]))
  },

  /** Records which key replaced a locked key, and sets when the locked key expires. @returns the key as it is now */
  async replace(companyId: string, keyId: string, replacedBy: string, end: KeyEnd): Promise<ApiKey> {
    const [at, afterS] = 'at' in end ? [end.at, null] : [null, end.afterS]
    return (await findOne(db, REPLACE, [companyId, keyId, replacedBy, at, afterS])) as ApiKey
  },

  /** Revokes a key. Revoking it again keeps the first time. @returns the key, undefined when there is none */
  async revoke(companyId: string, keyId: string): Promise<LockedApiKey | undefined> {
    const { rows } = await db.query<LockedRow>(REVOKE, [companyId, keyId])
    return rows.map(lockedFromRow)[0]
  },

  /**
   * Lists keys of all companies that expire within some days and are probably still needed, the soonest first. Account
   * keys are left out, because they always expire soon.
   */
  async listEnding(days: number, limit: number): Promise<EndingKey[]> {
    const { rows } = await db.query<EndingRow>(LIST_ENDING, [days, limit])
    return rows.map((row) => ({
      id: row.key_id,
      name: row.name,
      company: row.company,
      expiresAt: row.expires_at,
      isReplaced: row.is_replaced,
    }))
  },

  /**
   * Deletes account keys of a company that ended more than 31 days ago: ten at most, those that ended first. Their entries
   * in the audit trail stay.
   */
  async deleteEndedAccountKeys(companyId: string): Promise<void> {
    await db.query('SELECT delete_ended_account_keys($1)', [companyId])
  },

  /**
   * Records when keys were used last.
   * @param ages the milliseconds since each key was used, by its id
   */
  async noteUses(ages: ReadonlyMap<string, number>): Promise<void> {
    await db.query(NOTE_USES, [[...ages.keys()], [...ages.values()]])
  },
})

/** When a rotated key expires: at an instant, or so many seconds from now by the database's clock. */
export type KeyEnd = { at: Date } | { afterS: number }

/** The values of a new row, in the order of INSERT. */
const valuesOf = (key: NewApiKey): unknown[] => [
  key.id,
  key.companyId,
  key.name,
  key.digest,
  key.lastCharacters,
  key.permissions,
  key.accountId,
  key.expiresAt,
  key.issuedBy,
]

async function listKeys(
  db: Queryable,
  companyId: string,
  { limit, startingAfter }: PageRequest,
  accountId: string | undefined,
): Promise<Page<ApiKey>> {
  if (startingAfter !== undefined) {
    const last = await findOne(db, FIND, [companyId, startingAfter])
    if (last === undefined || last.accountId !== (accountId ?? null)) throw unknownCursor()
  }
  const text = listStatement(accountId === undefined ? 'account_id IS NULL' : 'account_id = $4')
  const values = [companyId, limit + 1, startingAfter ?? null]
  const { rows } = await db.query<ApiKeyRow>(text, accountId === undefined ? values : [...values, accountId])
  return pageOf(rows.map(apiKeyFromRow), limit)
}

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<ApiKey | undefined> {
  const { rows } = await db.query<ApiKeyRow>(text, values)
  return rows.map(apiKeyFromRow)[0]
}

const callerFromRow = (row: CallerRow): FoundCaller => ({
  keyId: row.key_id,
  companyId: row.company_id,
  namespaceId: row.namespace_id,
  mode: row.mode,
  permissions: row.permissions,
  ...(row.account_id === null ? {} : { accountId: row.account_id }),
  ...(row.ends_in_ms === null ? {} : { endsInMs: row.ends_in_ms }),
})

const apiKeyFromRow = (row: ApiKeyRow): ApiKey => ({
  id: row.key_id,
  companyId: row.company_id,
  name: row.name,
  lastCharacters: row.last_characters,
  permissions: row.permissions,
  accountId: row.account_id,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  issuedBy: row.issued_by,
  replacedBy: row.replaced_by,
  lastUsedAt: row.last_used_at,
})

const lockedFromRow = (row: LockedRow): LockedApiKey => ({
  ...apiKeyFromRow(row),
  digest: row.digest,
  isUsable: row.is_usable,
})
