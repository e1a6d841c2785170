import type { Caller } from '../../../shared/domain/api-key.ts'
import type { AuditedAction } from '../../../shared/domain/audit-entry.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import { idempotencyKeyRepository } from '../../../shared/postgres/idempotency-keys.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'

/** A route, and the Idempotency-Key that a request to it came with. */
interface Attempt {
  route: string
  key: string | undefined
}

/** Does something once for each Idempotency-Key. */
export type Once = <T>(
  caller: Caller,
  attempt: Attempt,
  work: (db: PoolClient, namespaceId: string) => Promise<T>,
) => Promise<T>

/**
 * The key is used up in the transaction that does the work, so a failed request leaves it free and a crash leaves
 * neither. Requests to one route of a namespace come a few at a time, as what they make stands in a list that is kept in
 * order of creation.
 *
 * @throws DomainError conflict when the key was used before on this route
 */
export function onceIn(pool: Pool): Once {
  return ({ namespaceId }, { route, key }, work) =>
    inNamespace(
      pool,
      namespaceId,
      async (db) => {
        if (key !== undefined) await idempotencyKeyRepository(db).use(namespaceId, route, key)
        return work(db, namespaceId)
      },
      route,
    )
}

/** What the trail says of something that is created. */
interface Creation<T> extends Attempt {
  action: AuditedAction
  /** What was asked for. */
  changes: object
  idOf: (made: T) => string
}

/** Creates something once for each Idempotency-Key, and records who did. */
export type Create = <T>(
  caller: Caller,
  creation: Creation<T>,
  insert: (db: PoolClient, namespaceId: string) => Promise<T>,
) => Promise<T>

/** @throws DomainError conflict when the key was used before on this route */
export function createIn(pool: Pool): Create {
  const once = onceIn(pool)
  return (caller, creation, insert) =>
    once(caller, creation, async (db, namespaceId) => {
      const made = await insert(db, namespaceId)
      const { action, changes, idOf } = creation
      const { companyId, keyId } = caller
      await auditTrailRepository(db).insert({ companyId, keyId, action, resourceId: idOf(made), changes })
      return made
    })
}

/** Of what has an id. */
export const idOf = ({ id }: { id: string }): string => id
