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

/** A request to make or change something, with its Idempotency-Key. */
export interface Attempt {
  /** Method and path, with the ids of the request in the path. */
  route: string
  /** The route under which an earlier version of Tally stored keys; undefined if it is the same as `route`. */
  formerRoute?: string
  key: string | undefined
  /** The requested change in the wire's field names: the body, with the defaults of openapi.yaml filled in. */
  changes: object
}

/**
 * Makes the function that takes an Attempt out of a request of an operation.
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

/** The requested change in the wire's field names: the body, with the defaults of openapi.yaml filled in. */
export const changesIn = ({ body }: { body: unknown }): object =>
  typeof body === 'object' && body !== null ? body : {}

/**
 * Does something once for each Idempotency-Key.
 * @param idOf returns the id of the resource that was made or changed, in the form of the path
 */
export type Once = <T>(
  caller: Caller,
  attempt: Attempt,
  idOf: (made: T) => string,
  work: (db: PoolClient, namespaceId: string) => Promise<T>,
) => Promise<T>

/**
 * Makes the function that runs requests once. Only a few requests to one route of a namespace run at the same time.
 * More requests would only wait for each other, because items are added to a list one by one, and a change locks the
 * row of its resource.
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
 * Does something within a transaction, once for each Idempotency-Key. The same transaction uses up the key. So a failed
 * request leaves the key unused, and a crash stores neither the key nor the change.
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

export const idOf = ({ id }: { id: string }): string => id
