import type { ApiRequest } from '../format/curl.ts'

/** A request that was refused, or that got no answer. */
export class CallError extends Error {
  /** The status of the answer; 0 without an answer. */
  readonly status: number
  /** The seconds after which the server may be asked again. */
  readonly retryAfterS: number | undefined

  constructor(status: number, message: string, retryAfterS?: number) {
    super(message)
    this.name = 'CallError'
    this.status = status
    this.retryAfterS = retryAfterS
  }

  /** Whether the same request may succeed a little later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503
  }

  /** Whether the server may have done what a request asked for, although it did not say so. */
  get isUnknown(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 408
  }
}

/**
 * Sends a request to Tally.
 *
 * @returns the body of the answer; undefined when it is not JSON
 * @throws CallError when the answer is an error, or there is none; DOMException when the signal aborts the request
 */
export async function call(key: string, request: ApiRequest, signal?: AbortSignal): Promise<unknown> {
  const answer = await send(key, request, signal)
  const text = await readText(answer, signal)
  if (!answer.ok)
    throw new CallError(answer.status, text === '' ? answer.statusText : text, retryAfterOf(answer))
  const isJson = answer.headers.get('Content-Type')?.startsWith('application/json') === true
  return isJson ? JSON.parse(text) : undefined
}

async function send(
  key: string,
  { method, target, body, idempotencyKey }: ApiRequest,
  signal?: AbortSignal,
): Promise<Response> {
  try {
    return await fetch(target, {
      method,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      headers: {
        'x-api-key': key,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (err) {
    throw lost(err, signal)
  }
}

async function readText(answer: Response, signal?: AbortSignal): Promise<string> {
  try {
    return await answer.text()
  } catch (err) {
    throw lost(err, signal)
  }
}

function lost(err: unknown, signal?: AbortSignal): unknown {
  return signal?.aborted === true ? err : new CallError(0, 'Tally does not answer')
}

function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get('Retry-After') ?? ''
  return /^\d{1,4}$/.test(text) ? (JSON.parse(text.replace(/^0+(?=\d)/, '')) as number) : undefined
}

/** The longest pause before a repeat. */
const PAUSE_MAX_MS = 30_000

/** How long to wait before a request is repeated: as long as the server says, or longer each time. */
export function pauseMs(repeat: number, err: unknown): number {
  const said = err instanceof CallError ? err.retryAfterS : undefined
  return Math.min(said === undefined ? 500 * 2 ** repeat : said * 1_000, PAUSE_MAX_MS)
}

const REPEATS_MAX = 3

/** Whether a read is repeated. */
export const isRepeated = (repeats: number, err: unknown): boolean =>
  err instanceof CallError && err.isPassing && repeats < REPEATS_MAX
