/**
 * The list of an error's kinds. A symbol of the registry is the same in every copy of this package, so an error of
 * another copy is recognized.
 */
const KINDS: unique symbol = Symbol.for('tally.error.kinds') as never

type ErrorClass<T> = (abstract new (...args: never[]) => T) & { readonly kind: string }

/** What every error of the client tells of the call. */
export interface CallFacts {
  /** The operationId in openapi.yaml; undefined for an error that belongs to no call. */
  operation?: string | undefined
  /** How often the request was sent. */
  attempts?: number
  cause?: unknown
}

/** Any error of this package, except for TypeErrors about arguments. */
export class TallyError extends Error {
  static readonly kind: string = 'TallyError'
  readonly operation: string | undefined
  readonly attempts: number

  constructor(message: string, { operation, attempts = 0, cause }: CallFacts = {}) {
    super(
      operation === undefined
        ? message
        : `${message} (${operation}${attempts > 1 ? `, ${attempts} attempts` : ''})`,
      cause === undefined ? undefined : { cause },
    )
    this.operation = operation
    this.attempts = attempts
    const kinds = kindsOf(new.target)
    this.name = kinds[0] ?? 'TallyError'
    Object.defineProperty(this, KINDS, { value: kinds })
  }

  /**
   * Whether an error is of this class. Unlike `instanceof`, it also works when the error comes from another copy of this
   * package.
   */
  static is<T extends TallyError>(this: ErrorClass<T>, err: unknown): err is T {
    if (typeof err !== 'object' || err === null || !(KINDS in err)) return false
    return (err[KINDS] as readonly string[]).includes(this.kind)
  }
}

/** The kinds of a class and of those above it. */
function kindsOf(first: object): string[] {
  const kinds: string[] = []
  for (
    let at = first as { kind?: string };
    at.kind !== undefined;
    at = Object.getPrototypeOf(at) as typeof at
  )
    if (!kinds.includes(at.kind)) kinds.push(at.kind)
  return kinds
}

/** The message of a failure. Of an AggregateError, only the inner errors have the addresses that Node tried. */
export function describeFailure(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return describeFailure(err.errors[0])
  return err instanceof Error ? err.message : String(err)
}

/** Tally could not be reached, or the connection ended before the whole answer. The request may have been done. */
export class ConnectionError extends TallyError {
  static override readonly kind: string = 'ConnectionError'
}

/** No whole answer within `timeoutMs`. The request may have been done. */
export class TimeoutError extends TallyError {
  static override readonly kind: string = 'TimeoutError'
}

/** The caller's signal ended the call. The request may have been done. */
export class AbortedError extends TallyError {
  static override readonly kind: string = 'AbortedError'
}

/** Something else than Tally answered, for example the login page of a network. Nothing is known of the request. */
export class NotTallyError extends TallyError {
  static override readonly kind: string = 'NotTallyError'
  readonly status: number
  /** The body of the answer. */
  readonly text: string

  constructor(message: string, answer: { status: number; text: string }, facts: CallFacts) {
    super(message, facts)
    this.status = answer.status
    this.text = answer.text
  }
}

/**
 * The request was done, by an attempt whose answer was lost. Nothing shows that answer again, for example because it had
 * a new API key: revoke that key, and ask for another one.
 */
export class OutcomeUnknownError extends TallyError {
  static override readonly kind: string = 'OutcomeUnknownError'
  /** What the request made, if Tally named it. */
  readonly id: string | undefined

  constructor(message: string, id: string | undefined, facts: CallFacts) {
    super(message, facts)
    this.id = id
  }
}

/** A webhook that does not come from Tally, or cannot be checked. */
export class WebhookVerificationError extends TallyError {
  static override readonly kind: string = 'WebhookVerificationError'
  readonly reason: 'header' | 'time' | 'signature' | 'body'

  constructor(reason: WebhookVerificationError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
