import { hash } from 'node:crypto'
import { DomainError } from '../errors/domain-error.ts'
import type { Micros } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'

const INSERT_COMPLETE = `
  INSERT INTO idempotency_keys (namespace_id, route, key, first_used_at, completed_at)
  SELECT $1, $2, $3, at, at FROM clock_timestamp() AS at
  ON CONFLICT (namespace_id, route, key) DO NOTHING`
const INSERT_BEGUN = `
  INSERT INTO idempotency_keys (namespace_id, route, key, first_used_at, body_digest)
  VALUES ($1, $2, $3, 'epoch'::timestamptz + $4 * interval '1 microsecond', $5)
  ON CONFLICT (namespace_id, route, key) DO NOTHING`
const FIND = `
  SELECT (extract(epoch FROM first_used_at) * 1000000)::bigint AS first_used_at, completed_at IS NOT NULL AS is_complete,
    body_digest = $4 AS is_same
  FROM idempotency_keys WHERE namespace_id = $1 AND route = $2 AND key = $3`
const COMPLETE = `
  UPDATE idempotency_keys SET completed_at = clock_timestamp() WHERE namespace_id = $1 AND route = $2 AND key = $3`

interface FoundRow {
  first_used_at: string
  is_complete: boolean
  is_same: boolean
}

/** Idempotency-Key headers, each used once in a namespace and on a route. */
export const idempotencyKeyRepository = (db: Queryable) => ({
  /**
   * Uses up a key, within the transaction that creates what it stands for: when that fails, the key stays free.
   *
   * @throws DomainError conflict when it was used before
   */
  async use(namespaceId: string, route: string, key: string): Promise<void> {
    const { rowCount } = await db.query(INSERT_COMPLETE, [namespaceId, route, key])
    if (rowCount === 0) throw alreadyUsed()
  },

  /**
   * Begins to use a key for work that is done outside of the database.
   *
   * @param body of the request
   * @param at now
   * @returns the time to work with: now, or that of an earlier attempt that was not completed
   * @throws DomainError conflict when an earlier use was completed, or had another body
   */
  async begin(namespaceId: string, route: string, key: string, body: Buffer, at: Micros): Promise<Micros> {
    const digest = hash('sha256', body, 'buffer')
    const { rowCount } = await db.query(INSERT_BEGUN, [namespaceId, route, key, at, digest])
    if (rowCount === 1) return at
    const { rows } = await db.query<FoundRow>(FIND, [namespaceId, route, key, digest])
    const [found] = rows
    if (found?.is_same !== true || found.is_complete) throw alreadyUsed()
    return Number(found.first_used_at)
  },

  async complete(namespaceId: string, route: string, key: string): Promise<void> {
    await db.query(COMPLETE, [namespaceId, route, key])
  },
})

const alreadyUsed = (): DomainError =>
  new DomainError('conflict', 'Idempotency-Key: this key was used before')
