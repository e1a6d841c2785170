import type { TallyError } from './errors.ts'

/** A request, for hooks. It never has a body or the key. */
export interface RequestInfo {
  /** The operationId in openapi.yaml. */
  readonly operation: string
  readonly method: string
  /** The template of the path: `/v2/accounts/{account_id}`. */
  readonly path: string
  /** 1 for the first attempt. */
  readonly attempt: number
}

export interface RequestStart extends RequestInfo {
  /** Headers that are sent besides the client's own. A hook may add some, such as `traceparent`. */
  readonly headers: Record<string, string>
}

export interface ResponseInfo extends RequestInfo {
  /** Undefined when there was no whole answer. */
  readonly status: number | undefined
  readonly durationMs: number
  readonly error: TallyError | undefined
}

export interface RetryInfo extends ResponseInfo {
  readonly waitMs: number
}

/** Functions that are called for each attempt. If one throws, the request goes on. */
export interface Hooks<Context = unknown> {
  /** @returns a context for the other hooks */
  onRequest?(info: RequestStart): Context
  onResponse?(info: ResponseInfo, context: Context): void
  /** Called before the wait. */
  onRetry?(info: RetryInfo, context: Context): void
}

/** Gets what the client cannot report otherwise. console is one. */
export interface Logger {
  warn(message: string, details?: unknown): void
}

/** Calls a hook. What it throws is logged, because the caller's request must not fail by it. */
export function callHook<T>(logger: Logger | undefined, hook: () => T): T | undefined {
  const failed = (err: unknown) => {
    logger?.warn('tally: a hook failed', err)
  }
  try {
    const result = hook()
    // The types cannot forbid an async function. Nobody else would catch what it throws, which ends a process of Node.
    if (result instanceof Promise) result.catch(failed)
    return result
  } catch (err) {
    failed(err)
    return undefined
  }
}
