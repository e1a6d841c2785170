import type { ErrorRequestHandler } from 'express'
import { DomainError, type ErrorCode } from '../errors/domain-error.ts'
import { isOutOfReach } from '../errors/out-of-reach.ts'
import type { Logger } from '../logging/logger.ts'
import { closeAfterRest } from './close-after-rest.ts'
import { HttpError } from './http-error.ts'
import { isAnsweredLate } from './request-deadline.ts'

const STATUS: Record<ErrorCode, number> = {
  malformed: 400,
  not_found: 404,
  conflict: 409,
  unprocessable: 422,
  overloaded: 503,
  unavailable: 503,
}

interface Reply {
  status: number
  message: string
  headers?: Record<string, string>
}

/** Seconds after which a client may try again when something is out of reach. */
const RETRY_AFTER = { 'Retry-After': '1' }

/** Turns what was thrown into an answer, once, as plain text. */
export function errorResponder(log: Logger): ErrorRequestHandler {
  return (err: unknown, req, res, next) => {
    if (isAnsweredLate(res)) return
    const { status, message, headers = {} } = describeError(err)
    if (status >= 500) log.error({ err, method: req.method, path: req.path }, 'request failed')
    if (res.headersSent) {
      next(err) // Express then cuts the connection: an answer that has begun cannot be taken back
      return
    }
    res.status(status).set(headers).type('text/plain').send(message)
    if (!req.complete) closeAfterRest(req)
  }
}

function describeError(err: unknown): Reply {
  if (err instanceof HttpError) return err
  if (err instanceof DomainError) return describeDomainError(err)
  if (isValidatorError(err)) return describeValidatorError(err)
  if (isOutOfReach(err))
    return { status: 503, message: 'a database cannot be reached, try again', headers: RETRY_AFTER }
  return { status: 500, message: 'internal error' } // a bug: logged whole, told to nobody
}

function describeDomainError({ code, message }: DomainError): Reply {
  if (code === 'not_found') return { status: 404, message: 'not found' }
  return { status: STATUS[code], message, ...(STATUS[code] === 503 ? { headers: RETRY_AFTER } : {}) }
}

/** What express-openapi-validator throws, and Express's router for a path that cannot be decoded. */
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
