import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorRequestHandler } from 'express'
import { DomainError, type ErrorCode } from '../errors/domain-error.ts'
import { isOutOfReach } from '../errors/out-of-reach.ts'
import type { Logger } from '../logging/logger.ts'
import { answerText } from './answer-text.ts'
import { HttpError } from './http-error.ts'
import { isAnsweredLate } from './request-deadline.ts'

const STATUS: Record<ErrorCode, number> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  unprocessable: 422,
  overloaded: 503,
  suspended: 503,
  unavailable: 503,
}

interface Reply {
  status: number
  message: string
  headers?: Record<string, string>
}

/** For a database that is out of reach: seconds after which a client may try again. */
const RETRY_AFTER = { 'Retry-After': '1' }
/** For work that is suspended for a while: seconds after which a client may try again. */
const RETRY_LATER = { 'Retry-After': '5' }

/** The last step of an Express app: see answerError. */
export function errorResponder(log: Logger): ErrorRequestHandler {
  const answer = answerError(log)
  return (err: unknown, req, res, next) => {
    if (!answer(err, req, res)) next(err) // Express then closes the connection
  }
}

/**
 * Turns an error of a request into an answer in plain text, with the headers that are set. No other code does so.
 *
 * @returns false when an answer has already begun. The caller must then close the connection
 */
export function answerError(
  log: Logger,
): (err: unknown, req: IncomingMessage, res: ServerResponse) => boolean {
  return (err, req, res) => {
    if (isAnsweredLate(res)) return true
    const { status, message, headers = {} } = describeError(err)
    // The suspension was logged when it began. More lines could fill a disk that is nearly full.
    const level = isSuspended(err) ? 'debug' : 'error'
    if (status >= 500) log[level]({ err, method: req.method, path: pathOf(req) }, 'request failed')
    if (res.headersSent) return false
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    answerText(res, status, message)
    return true
  }
}

/** The path without the query, which may contain private data. */
const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? ''

const isSuspended = (err: unknown): boolean => err instanceof DomainError && err.code === 'suspended'

function describeError(err: unknown): Reply {
  if (err instanceof HttpError) return err
  if (err instanceof DomainError) return describeDomainError(err)
  if (isValidatorError(err)) return describeValidatorError(err)
  if (isOutOfReach(err))
    return { status: 503, message: 'a database cannot be reached, try again', headers: RETRY_AFTER }
  return { status: 500, message: 'internal error' } // a bug, whose details are logged, but not shown to the client
}

function describeDomainError({ code, message, earlierResource }: DomainError): Reply {
  if (code === 'not_found') return { status: 404, message: 'not found' }
  if (code === 'suspended') return { status: STATUS[code], message, headers: RETRY_LATER }
  if (earlierResource !== undefined)
    return { status: STATUS[code], message, headers: { 'Idempotency-Resource': earlierResource } }
  return { status: STATUS[code], message, ...(STATUS[code] === 503 ? { headers: RETRY_AFTER } : {}) }
}

/** The errors of express-openapi-validator, and of Express's router for a path that cannot be decoded. */
interface ValidatorError extends Error {
  status: number
}

const isValidatorError = (err: unknown): err is ValidatorError =>
  err instanceof Error &&
  'status' in err &&
  typeof err.status === 'number' &&
  err.status >= 400 &&
  err.status < 500

function describeValidatorError({ status, message }: ValidatorError): Reply {
  if (status === 404) return { status, message: 'not found' }
  if (status === 415) return { status, message: 'content-type: the body must be application/json' }
  return { status, message }
}
