import type { AuditedAction } from '../../../shared/domain/audit-entry.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import {
  type AnswerOf,
  type Operation,
  operation,
  type OperationId,
  type RequestOf,
} from '../../../shared/http/operation.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import type { Pool, PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { attemptsOf, changesIn, onceWithin } from './once.ts'

/** A request, and the transaction in the caller's namespace in which it is answered. */
export type Work<Id extends OperationId> = RequestOf<Id> & { db: PoolClient; namespaceId: string }

/** @returns a resource, or a page of them; undefined when there is none */
type Find<Id extends OperationId, T> = (work: Work<Id>) => Promise<T | undefined>

/** Makes the body of a resource. */
type ToBody<Id extends OperationId, T> = (resource: T, work: Work<Id>) => AnswerOf<Id>

/** How a change is recorded in the trail, and how the changed resource is shown. */
interface Recording<Id extends OperationId, T> {
  action: AuditedAction
  toBody: ToBody<Id, T>
  /** The id in the resource's path. Default: the id in the answer. */
  idOf?: (answer: AnswerOf<Id>) => string
}

/** Makes operations that run in one transaction in the caller's namespace. They answer 404 when nothing is found. */
export interface NamespaceOperations {
  /** Answers a read. */
  read: <Id extends OperationId, T>(id: Id, toBody: ToBody<Id, T>, find: Find<Id, T>) => Operation
  /** Changes one resource and records who did so. The trail contains the request even if nothing changed. */
  change: <Id extends OperationId, T>(id: Id, recording: Recording<Id, T>, work: Find<Id, T>) => Operation
  /**
   * Makes or changes a resource, once for each Idempotency-Key, and records who did so. It answers 409 when the key was
   * used before.
   */
  once: <Id extends OperationId, T>(id: Id, recording: Recording<Id, T>, work: Find<Id, T>) => Operation
}

/** Makes operations on a database. */
export function namespaceOperations(pool: Pool): NamespaceOperations {
  return {
    read: (id, toBody, find) =>
      operation(id, (request) =>
        inNamespaceOf(request, async (work) => toBody(found(await find(work)), work)),
      ),
    change: (id, recording, work) =>
      operation(id, (request) =>
        inNamespaceOf(
          request,
          (within) => recorded(recording, work, within),
          Object.values(request.params).join(' '),
        ),
      ),
    once(id, recording, work) {
      const attemptOf = attemptsOf(id)
      return operation(id, (request) => {
        const attempt = attemptOf(request)
        const make = (within: Work<typeof id>) =>
          onceWithin(within.db, within.namespaceId, attempt, recording.idOf ?? idOfAnswer, () =>
            recorded(recording, work, within),
          )
        return inNamespaceOf(request, make, attempt.route)
      })
    },
  }

  function inNamespaceOf<Id extends OperationId>(
    request: RequestOf<Id>,
    answer: (work: Work<Id>) => Promise<AnswerOf<Id>>,
    lock?: string,
  ): Promise<AnswerOf<Id>> {
    const { namespaceId } = request.caller
    return inNamespace(pool, namespaceId, (db) => answer({ ...request, db, namespaceId }), lock)
  }
}

async function recorded<Id extends OperationId, T>(
  { action, toBody, idOf = idOfAnswer }: Recording<Id, T>,
  work: Find<Id, T>,
  within: Work<Id>,
): Promise<AnswerOf<Id>> {
  const answer = toBody(found(await work(within)), within)
  const { companyId, keyId } = within.caller
  const entry = { companyId, keyId, action, resourceId: idOf(answer), changes: changesIn(within) }
  await auditTrailRepository(within.db).insert(entry)
  return answer
}

function found<T>(resource: T | undefined): T {
  if (resource === undefined) throw new DomainError('not_found', 'no such resource')
  return resource
}

function idOfAnswer(answer: unknown): string {
  if (typeof answer === 'object' && answer !== null && 'id' in answer && typeof answer.id === 'string')
    return answer.id
  throw new Error('the answer has no id: the operation needs idOf')
}
