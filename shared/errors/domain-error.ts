/**
 * The meaning of an error. `shared/http` turns each code into an HTTP status. After `overloaded` and `suspended`,
 * nothing was done. After `unavailable`, it is not known whether something was done. `suspended` means that the process
 * refuses such requests for a while, and has logged the reason.
 */
export type ErrorCode =
  | 'malformed'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'unprocessable'
  | 'overloaded'
  | 'suspended'
  | 'unavailable'

/** An error that a caller can act on. It does not depend on HTTP. Its message is written for the caller. */
export class DomainError extends Error {
  readonly code: ErrorCode
  /** The id of what an earlier request with the same Idempotency-Key made or changed. */
  readonly earlierResource: string | undefined

  constructor(code: ErrorCode, message: string, options: ErrorOptions & { earlierResource?: string } = {}) {
    super(message, options)
    this.name = 'DomainError'
    this.code = code
    this.earlierResource = options.earlierResource
  }
}
