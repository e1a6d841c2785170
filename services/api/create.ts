import type { Caller } from '../../shared/domain/api-key.ts'
import { idempotencyKeyRepository } from '../../shared/postgres/idempotency-keys.ts'
import type { Pool, PoolClient } from '../../shared/postgres/pool.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'

/** Creates something once for each Idempotency-Key. */
export type Create = <T>(
  caller: Caller,
  request: { route: string; key: string | undefined },
  insert: (db: PoolClient, namespaceId: string) => Promise<T>,
) => Promise<T>

/**
 * The key is used up in the transaction that creates, so a failed request leaves it free and a crash leaves neither.
 *
 * @throws DomainError conflict when the key was used before on this route
 */
export function createIn(pool: Pool): Create {
  return ({ namespaceId }, { route, key }, insert) =>
    inNamespace(pool, namespaceId, async (db) => {
      if (key !== undefined) await idempotencyKeyRepository(db).use(namespaceId, route, key)
      return insert(db, namespaceId)
    })
}
