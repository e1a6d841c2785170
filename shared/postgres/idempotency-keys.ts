import { hash } from 'node:crypto'
import { DomainError } from '../errors/domain-error.ts'
import type { Micros } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'

/**
 * The forms of a key's row: migrations/0022_keys_name_what_they_made.sql explains them. New rows have the form
 * `ofContent`.
 */
export const KEY_FORM = { ofBytes: 1, ofContent: 2 } as const
export type KeyForm = (typeof KEY_FORM)[keyof typeof KEY_FORM]

/** A request that came with an Idempotency-Key. */
export interface KeyedRequest {
  /** Method and path, with the ids in the path. A key can be used once on each route. */
  route: string
  key: string
  /** A SHA-256 of the content. It is equal for all spellings of the same content. */
  digest: Buffer
}

/** A key that is used for work outside of the database. */
export interface BegunKey {
  /** The time of the first attempt. */
  at: Micros
  /** The form of the first attempt's row. */
  form: KeyForm
}

/** The events that a report stored. */
export interface ReportedEvents {
  firstId: string
  count: number
}

const INSERT_USED = `
  INSERT INTO idempotency_keys (namespace_id, route, key, first_used_at, completed_at, form, digest)
  SELECT $1, $2, $3, at, at, ${KEY_FORM.ofContent}, $4 FROM clock_timestamp() AS at
  WHERE NOT EXISTS (SELECT FROM idempotency_keys WHERE namespace_id = $1 AND route = $5 AND key = $3)
  ON CONFLICT (namespace_id, route, key) DO NOTHING`
const NAME_RESOURCE = `
  UPDATE idempotency_keys SET resource_id = $4 WHERE namespace_id = $1 AND route = $2 AND key = $3`
const INSERT_BEGUN = `
  INSERT INTO idempotency_keys (namespace_id, route, key, first_used_at, form, digest)
  VALUES ($1, $2, $3, 'epoch'::timestamptz + $4 * interval '1 microsecond', ${KEY_FORM.ofContent}, $5)
  ON CONFLICT (namespace_id, route, key) DO NOTHING`
const COMPLETE = `
  UPDATE idempotency_keys SET completed_at = clock_timestamp(), resource_id = $4, event_count = $5
  WHERE namespace_id = $1 AND route = $2 AND key = $3`
const FIND = `
  SELECT (extract(epoch FROM first_used_at) * 1000000)::bigint AS first_used_at, completed_at IS NOT NULL AS is_complete,
    form, digest, resource_id, event_count
  FROM idempotency_keys WHERE namespace_id = $1 AND route IN ($2, $4) AND key = $3
  ORDER BY route = $2 DESC LIMIT 1`

interface FoundRow {
  first_used_at: string
  is_complete: boolean
  form: KeyForm
  digest: Buffer | null
  resource_id: string | null
  event_count: number | null
}

/**
 * Idempotency-Key headers. Each can be used once in a namespace and on a route. docs/reference/keys.md lists the
 * answers to repeated keys.
 */
export const idempotencyKeyRepository = (db: Queryable) => {
  const find = async (
    namespaceId: string,
    { route, key }: KeyedRequest,
    formerRoute = route,
  ): Promise<FoundRow> => {
    const { rows } = await db.query<FoundRow>(FIND, [namespaceId, route, key, formerRoute])
    const [found] = rows
    if (found === undefined) throw new Error('an Idempotency-Key that was there is gone')
    return found
  }

  return {
    /**
     * Uses a key, within the transaction that makes or changes the resource. If the transaction fails, the key stays
     * free. Another request with the same key waits until this transaction ends.
     *
     * @param formerRoute the route under which an earlier version stored the keys of this route
     * @throws DomainError conflict when the key was used before
     */
    async use(namespaceId: string, request: KeyedRequest, formerRoute = request.route): Promise<void> {
      const { route, key, digest } = request
      const { rowCount } = await db.query(INSERT_USED, [namespaceId, route, key, digest, formerRoute])
      if (rowCount === 0) throw usedBefore(await find(namespaceId, request, formerRoute), digest)
    },

    /** Records the resource that the key was used for, in the same transaction. */
    async nameResource(namespaceId: string, { route, key }: KeyedRequest, resourceId: string): Promise<void> {
      await db.query(NAME_RESOURCE, [namespaceId, route, key, resourceId])
    },

    /**
     * Begins to use a key for work outside of the database, or continues an earlier attempt with the same content.
     *
     * @param body the bytes of the request, with which attempts of the form `ofBytes` are compared
     * @param at the current time
     * @returns the time and the form to work with: new ones, or those of the earlier attempt
     * @throws DomainError conflict when the key was used; unprocessable when the earlier attempt has another content,
     *   or may have another content
     */
    async begin(namespaceId: string, request: KeyedRequest, body: Buffer, at: Micros): Promise<BegunKey> {
      const { route, key, digest } = request
      const { rowCount } = await db.query(INSERT_BEGUN, [namespaceId, route, key, at, digest])
      if (rowCount === 1) return { at, form: KEY_FORM.ofContent }
      const found = await find(namespaceId, request)
      const own = found.form === KEY_FORM.ofBytes ? hash('sha256', body, 'buffer') : digest
      if (found.is_complete) throw usedBefore(found, own)
      if (found.digest?.equals(own) !== true) throw begunOtherwise()
      return { at: Number(found.first_used_at), form: found.form }
    },

    /** Marks a key as used, once its work is done. */
    async complete(
      namespaceId: string,
      { route, key }: KeyedRequest,
      { firstId, count }: ReportedEvents,
    ): Promise<void> {
      await db.query(COMPLETE, [namespaceId, route, key, firstId, count])
    },
  }
}

const SUBJECT = 'Idempotency-Key:'

/** @param digest the digest of this request, computed in the same way as the digest in the found row */
function usedBefore(found: FoundRow, digest: Buffer): DomainError {
  const { resource_id: resourceId, event_count: count } = found
  const before = `${SUBJECT} this key was used before`
  if (resourceId === null)
    return new DomainError(
      'conflict',
      `${before}, by an earlier version of Tally, which did not record its resource`,
    )
  const made = count === null || count === 1 ? resourceId : `${count} events, the first of them ${resourceId}`
  const isOther = isKnownToDiffer(found, digest)
  const content = isOther ? ', with another content: nothing of this request was done' : ''
  return new DomainError('conflict', `${before}, for ${made}${content}`, { earlierResource: resourceId })
}

/** Never true for the form `ofBytes`, because different bytes may have the same content. */
const isKnownToDiffer = (found: FoundRow, digest: Buffer): boolean =>
  found.form === KEY_FORM.ofContent && found.digest?.equals(digest) !== true

const begunOtherwise = (): DomainError =>
  new DomainError(
    'unprocessable',
    `${SUBJECT} another request has begun with this key, and whether it counts is not known: nothing of this one was ` +
      'done, send that one again or this one with another key',
  )
