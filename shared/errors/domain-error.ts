/**
 * What went wrong, by meaning. `shared/http` turns each into a status code. After `overloaded` and `suspended` nothing
 * was done; after `unavailable` it is not known whether something was done. `suspended` means that the process refuses
 * such requests for a while, and has logged why.
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

/** An error that a caller can act on. It knows nothing of HTTP; its message is written for the caller. */
export class DomainError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DomainError'
    this.code = code
  }
}
