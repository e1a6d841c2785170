import type { RequestHandler } from 'express'
import type { components, operations } from '../../contract/operations.d.ts'
import type { operations as requests } from '../../contract/requests.d.ts'
import type { Caller } from '../domain/api-key.ts'
import type { RateLimit } from '../rate-limit/rate-limit.ts'
import { callerOf, idempotencyKeyOf } from './authentication.ts'
import { aheadMsOf, nowOf } from './enter-world.ts'
import { goneSignal } from './gone-signal.ts'
import { limitRate } from './limit-rate.ts'
import { operationById } from './openapi-document.ts'
import type { Handler, Handlers } from './operations-app.ts'
import type { RawBody } from './read-json-body.ts'
import { isAwaited } from './request-deadline.ts'

/** The id of an operation of openapi.yaml. */
export type OperationId = keyof operations

/** A schema of openapi.yaml, by its name. */
export type SchemaOf<Name extends keyof components['schemas']> = components['schemas'][Name]

/** What a request brings, whatever it asks for. */
export interface AnyRequest {
  caller: Caller
  /** What time it is for the caller as the operation begins, in Unix seconds. */
  now: number
  /** What time it is for the caller whenever it is asked, to the millisecond. */
  clock: () => Date
  /** How far that runs ahead of real time. */
  aheadMs: number
  idempotencyKey: string | undefined
  /** The body as it came, inflated; empty where there was none. */
  rawBody: Buffer
  /**
   * Takes points of a limit of the caller's key; the answer says how it stands.
   *
   * @throws HttpError 429 with Retry-After when fewer are left
   */
  limit: (limit: RateLimit, points: number) => Promise<void>
  /** Aborted when the caller goes away, or is answered. */
  signal: () => AbortSignal
  /** Whether the client still waits: it has not gone, and was told nothing. */
  isAwaited: () => boolean
}

/** What a request of an operation brings: checked against openapi.yaml, its defaults filled in. */
export interface RequestOf<Id extends OperationId> extends AnyRequest {
  body: BodyOf<Id>
  params: NonNullable<requests[Id]['parameters']['path']>
  query: NonNullable<requests[Id]['parameters']['query']>
}

/** What an operation answers when it is done. */
export type AnswerOf<Id extends OperationId> = {
  [Status in Done & keyof operations[Id]['responses']]: Json<operations[Id]['responses'][Status]>
}[Done & keyof operations[Id]['responses']]

/** Undefined where it may be left out, and nobody sent one. */
type BodyOf<Id extends OperationId> =
  | Json<NonNullable<requests[Id]['requestBody']>>
  | (undefined extends requests[Id]['requestBody'] ? undefined : never)

type Done = 200 | 202
type Json<Part> = Part extends { content: { 'application/json': infer Value } } ? Value : never

/** An operation of openapi.yaml, and what answers it. */
export interface Operation extends Handler {
  id: OperationId
}

/**
 * Answers an operation of openapi.yaml, typed by it.
 *
 * @param answer gives the body of the answer; what it throws becomes another answer, see error-responder.ts
 */
export const operation = <Id extends OperationId>(
  id: Id,
  answer: (request: RequestOf<Id>) => Promise<AnswerOf<Id>>,
  options: Omit<Handler, 'handle'> = {},
): Operation => ({ id, ...options, handle: handlerOf(answer, operationById(id).status) })

function handlerOf<Id extends OperationId>(
  answer: (request: RequestOf<Id>) => Promise<AnswerOf<Id>>,
  status: number,
): RequestHandler {
  return async (req, res) => {
    // The one place where what the validator has checked gets its types.
    const { body, params, query } = req as unknown as Pick<RequestOf<Id>, 'body' | 'params' | 'query'>
    const request: RequestOf<Id> = {
      body,
      params,
      query,
      caller: callerOf(res),
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
    res.status(status).json(answered)
  }
}

/** By their ids. @throws Error when one is there twice */
export function handlersOf(operations: readonly Operation[]): Handlers {
  const handlers: Record<string, Handler> = {}
  for (const { id, ...handler } of operations) {
    if (id in handlers) throw new Error(`${id} is answered twice`)
    handlers[id] = handler
  }
  return handlers
}
