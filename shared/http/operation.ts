import type { RequestHandler } from 'express'
import type { components, operations } from '../../contract/operations.d.ts'
import type { operations as requests } from '../../contract/requests.d.ts'
import type { Caller } from '../domain/api-key.ts'
import type { RateLimit } from '../rate-limit/rate-limit.ts'
import { limitToAccount, requireOwnAnswer } from './account-scope.ts'
import { callerOf, idempotencyKeyOf } from './authentication.ts'
import { aheadMsOf, nowOf } from './enter-world.ts'
import { goneSignal } from './gone-signal.ts'
import { limitRate } from './limit-rate.ts'
import { type Operation as ContractOperation, operationById } from './openapi-document.ts'
import type { Handler, Handlers } from './operations-app.ts'
import type { RawBody } from './read-json-body.ts'
import { isAwaited } from './request-deadline.ts'

/** The id of an operation of openapi.yaml. */
export type OperationId = keyof operations

/** A schema of openapi.yaml, by its name. */
export type SchemaOf<Name extends keyof components['schemas']> = components['schemas'][Name]

/** The values that the request of any operation provides. */
export interface AnyRequest {
  caller: Caller
  /** The caller's time when the operation begins, in Unix seconds. */
  now: number
  /** The caller's current time, to the millisecond. */
  clock: () => Date
  /** The milliseconds by which the caller's time is ahead of real time. */
  aheadMs: number
  idempotencyKey: string | undefined
  /** The body's bytes, inflated; empty without a body. */
  rawBody: Buffer
  /**
   * Takes points from a limit of the caller's key. The headers of the answer then have the limit's state.
   *
   * @throws HttpError 429 with Retry-After when too few points are left
   */
  limit: (limit: RateLimit, points: number) => Promise<void>
  /**
   * A signal that aborts when the client closes the connection before it has the answer, or when the answer is sent.
   */
  signal: () => AbortSignal
  /** Whether the client still waits: the connection is open, and the answer has not begun. */
  isAwaited: () => boolean
}

/** The values that a request of an operation provides, checked against openapi.yaml and with defaults filled in. */
export interface RequestOf<Id extends OperationId> extends AnyRequest {
  body: BodyOf<Id>
  params: NonNullable<requests[Id]['parameters']['path']>
  query: NonNullable<requests[Id]['parameters']['query']>
}

/** The successful answer of an operation. */
export type AnswerOf<Id extends OperationId> = {
  [Status in Done & keyof operations[Id]['responses']]: Json<operations[Id]['responses'][Status]>
}[Done & keyof operations[Id]['responses']]

/** The type of the body. It includes undefined if the body is optional. */
type BodyOf<Id extends OperationId> =
  | Json<NonNullable<requests[Id]['requestBody']>>
  | (undefined extends requests[Id]['requestBody'] ? undefined : never)

type Done = 200 | 202
type Json<Part> = Part extends { content: { 'application/json': infer Value } } ? Value : never

/** An operation of openapi.yaml with its handler. */
export interface Operation extends Handler {
  id: OperationId
}

/**
 * Makes the handler of an operation of openapi.yaml, with its types.
 *
 * @param answer returns the body of the answer. If it throws an error, error-responder.ts turns the error into the
 *   answer
 */
export const operation = <Id extends OperationId>(
  id: Id,
  answer: (request: RequestOf<Id>) => Promise<AnswerOf<Id>>,
  options: Omit<Handler, 'handle'> = {},
): Operation => ({ id, ...options, handle: handlerOf(answer, operationById(id)) })

function handlerOf<Id extends OperationId>(
  answer: (request: RequestOf<Id>) => Promise<AnswerOf<Id>>,
  contract: ContractOperation,
): RequestHandler {
  const limit = limitToAccount(contract)
  return async (req, res) => {
    const caller = callerOf(res)
    const { accountId } = caller
    const asked = accountId === undefined ? req : limit(req, accountId)
    // Only here do values that the validator has checked get their types.
    const { params, query } = asked as unknown as Pick<RequestOf<Id>, 'params' | 'query'>
    const request: RequestOf<Id> = {
      body: req.body as RequestOf<Id>['body'],
      params,
      query,
      caller,
      now: Math.floor(nowOf(res).getTime() / 1_000),
      clock: () => nowOf(res),
      aheadMs: aheadMsOf(res),
      idempotencyKey: idempotencyKeyOf(req),
      rawBody: (req as RawBody).rawBody ?? Buffer.alloc(0),
      limit: (limit, points) => limitRate(res, limit, callerOf(res).keyId, points),
      signal: () => goneSignal(res),
      isAwaited: () => isAwaited(req, res),
    }
    const answered = await answer(request)
    if (accountId !== undefined) requireOwnAnswer(answered, accountId)
    res.status(contract.status).json(answered)
  }
}

/**
 * Handlers by the ids of their operations.
 *
 * @throws Error when an operation occurs twice
 */
export function handlersOf(operations: readonly Operation[]): Handlers {
  const handlers: Record<string, Handler> = {}
  for (const { id, ...handler } of operations) {
    if (id in handlers) throw new Error(`${id} is answered twice`)
    handlers[id] = handler
  }
  return handlers
}
