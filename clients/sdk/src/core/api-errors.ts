import { type CallFacts, TallyError } from './errors.ts'
import { type Fault, parseFaults } from './faults.ts'
import { parseRetryAfter } from './retries.ts'
import type { TransportAnswer } from './transport.ts'

/** Tally answered with an error. */
export class ApiError extends TallyError {
  static override readonly kind: string = 'ApiError'
  readonly status: number
  /** Tally's text. */
  readonly text: string
  /** The faults that the text names. */
  readonly faults: readonly Fault[]
  /** How long Tally wants the client to wait. */
  readonly retryAfterMs: number | undefined
  /** The headers of the answer, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>

  constructor(answer: TransportAnswer, facts: CallFacts) {
    super(shortened(answer.text) || `status ${answer.status}`, facts)
    this.status = answer.status
    this.text = answer.text
    this.faults = parseFaults(answer.text)
    this.retryAfterMs = parseRetryAfter(answer.headers['retry-after'], Date.now())
    this.headers = answer.headers
  }
}

/** 400: the request is malformed. */
export class BadRequestError extends ApiError {
  static override readonly kind: string = 'BadRequestError'
}
/** 401: the key is missing, wrong, expired or revoked. */
export class InvalidKeyError extends ApiError {
  static override readonly kind: string = 'InvalidKeyError'
}
/** 403: the key lacks a permission. */
export class ForbiddenError extends ApiError {
  static override readonly kind: string = 'ForbiddenError'
}
/** 404: there is no such resource. */
export class NotFoundError extends ApiError {
  static override readonly kind: string = 'NotFoundError'
}
/** 408: the request took too long; nothing was written. */
export class RequestTimeoutError extends ApiError {
  static override readonly kind: string = 'RequestTimeoutError'
}
/** 409: it exists already, its state does not allow this, or the Idempotency-Key was used before. */
export class ConflictError extends ApiError {
  static override readonly kind: string = 'ConflictError'
}
/** 413: the request is too large. */
export class TooLargeError extends ApiError {
  static override readonly kind: string = 'TooLargeError'
}
/** 415: the body is not of a type that Tally takes. */
export class UnsupportedMediaError extends ApiError {
  static override readonly kind: string = 'UnsupportedMediaError'
}
/** 422: the request is well-formed, but cannot be done. */
export class UnprocessableError extends ApiError {
  static override readonly kind: string = 'UnprocessableError'
}

/** A rate limit, as the headers RateLimit and RateLimit-Policy describe it. */
export interface RateLimit {
  name: string
  /** How many requests are left. */
  remaining: number
  /** Seconds until all are available again. */
  resetS: number
  /** How many requests are allowed in `windowS` seconds, if there is such a time. */
  quota: number | undefined
  windowS: number | undefined
}

/** 429: too many requests; nothing was written. */
export class RateLimitedError extends ApiError {
  static override readonly kind: string = 'RateLimitedError'
  readonly limit: RateLimit | undefined

  constructor(answer: TransportAnswer, facts: CallFacts) {
    super(answer, facts)
    this.limit = parseRateLimit(answer.headers)
  }
}

/** 5xx: the request may have been done. */
export class ServerError extends ApiError {
  static override readonly kind: string = 'ServerError'
}
/** 503: a part of Tally is unavailable. The request may have been done. */
export class UnavailableError extends ServerError {
  static override readonly kind: string = 'UnavailableError'
}

const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: InvalidKeyError,
  403: ForbiddenError,
  404: NotFoundError,
  408: RequestTimeoutError,
  409: ConflictError,
  413: TooLargeError,
  415: UnsupportedMediaError,
  422: UnprocessableError,
  429: RateLimitedError,
  503: UnavailableError,
}

/** Makes the error of an answer with a status of 400 or above. */
export function apiErrorOf(answer: TransportAnswer, facts: CallFacts): ApiError {
  const Class = BY_STATUS[answer.status] ?? (answer.status >= 500 ? ServerError : ApiError)
  return new Class(answer, facts)
}

function parseRateLimit(headers: Readonly<Record<string, string>>): RateLimit | undefined {
  const parts = /^"([^"]*)"(.*)$/.exec(headers['ratelimit'] ?? '')
  if (parts === null) return undefined
  const [, name = '', left = ''] = parts
  const policy = headers['ratelimit-policy'] ?? ''
  return {
    name,
    remaining: parameter(left, 'r') ?? 0,
    resetS: parameter(left, 't') ?? 0,
    quota: parameter(policy, 'q'),
    windowS: parameter(policy, 'w'),
  }
}

function parameter(text: string, name: string): number | undefined {
  const [, value] = new RegExp(`;\\s*${name}=(\\d+)`).exec(text) ?? []
  return value === undefined ? undefined : Number(value)
}

/** A proxy may answer with a whole page. */
const SHOWN_MAX = 1_000
const shortened = (text: string): string => (text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text)
