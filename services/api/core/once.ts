import { hash } from 'node:crypto'
import type { Caller } from '../../../shared/domain/api-key.ts'
import { canonicalJson } from '../../../shared/domain/canonical-json.ts'
import { routeOf as templateOf } from '../../../shared/http/admit.ts'
import { operationById } from '../../../shared/http/openapi-document.ts'
import type { OperationId, RequestOf } from '../../../shared/http/operation.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idempotencyKeyRepository } from '../../../shared/postgres/idempotency-keys.ts'
import { routeOf } from './route-of.ts'

/** A request to make or change something, and the Idempotency-Key that it came with. */
export interface Attempt {
  /** Method and path, with the ids that stand in it. */
  route: string
  /** Under which an earlier version kept keys of this route; undefined where it is the same. */
  formerRoute?: string
  key: string | undefined
  /** What is asked for, by the names of the wire: the body, with the defaults of openapi.yaml filled in. */
  changes: object
}

/**
 * How requests of an operation are told apart.
 *
 * @throws Error when openapi.yaml has no such operation
 */
export function attemptsOf<Id extends OperationId>(id: Id): (request: RequestOf<Id>) => Attempt {
  const template = templateOf(operationById(id))
  return (request) => {
    const route = routeOf(template, request.params)
    return {
      route,
      ...(route !== template && { formerRoute: template }),
      key: request.idempotencyKey,
      changes: changesIn(request),
    }
  }
}

/** What is asked for, by the names of the wire: the body, with the defaults of openapi.yaml filled in. */
export const changesIn = ({ body }: { body: unknown }): object =>
  typeof body === 'object' && body !== null ? body : {}

/** Does something once for each Idempotency-Key. @param idOf of what was made or changed, as it stands in its path */
export type Once = <T>(
  caller: Caller,
  attempt: Attempt,
  idOf: (made: T) => string,
  work: (db: PoolClient, namespaceId: string) => Promise<T>,
) => Promise<T>

/**
 * Requests to one route of a namespace come a few at a time: what they make stands in a list that is kept in order of
 * creation, and what they change is one row.
 *
 * @throws DomainError conflict when the key was used before on this route
 */
export const onceIn =
  (pool: Pool): Once =>
  ({ namespaceId }, attempt, idOf, work) =>
    inNamespace(
      pool,
      namespaceId,
      (db) => onceWithin(db, namespaceId, attempt, idOf, () => work(db, namespaceId)),
      attempt.route,
    )

/**
 * Does something within a transaction, once for each Idempotency-Key. The key is used up in the transaction that does
 * the work, so a failed request leaves it free and a crash leaves neither.
 *
 * @throws DomainError conflict when the key was used before on this route
 */
export async function onceWithin<T>(
  db: PoolClient,
  namespaceId: string,
  { route, formerRoute, key, changes }: Attempt,
  idOf: (made: T) => string,
  work: () => Promise<T>,
): Promise<T> {
  if (key === undefined) return work()
  const keys = idempotencyKeyRepository(db)
  const request = { route, key, digest: hash('sha256', canonicalJson(changes), 'buffer') }
  await keys.use(namespaceId, request, formerRoute)
  const made = await work()
  await keys.nameResource(namespaceId, request, idOf(made))
  return made
}

/** Of what has an id. */
export const idOf = ({ id }: { id: string }): string => id
