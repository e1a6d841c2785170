import { setTimeout as sleep } from 'node:timers/promises'
import { StartupError } from '../../shared/errors/startup-error.ts'
import {
  AbortedError,
  ApiError,
  ConnectionError,
  NotTallyError,
  type Tally,
  TallyError,
} from '../sdk/src/node.ts'
import { mayRetry, retryWaitMs } from '../sdk/src/reporter/internal.ts'

/** A request that is sent again. */
export interface Retry {
  /** Why there was no answer, as a clause. */
  reason: string
  waitMs: number
  /** For how much longer the request is tried. */
  leftMs: number
}

export interface AskOptions {
  /** A client that does not send requests again. */
  tally: Tally
  /** For messages: the URL, and the source of the key. */
  place: { url: string; keySource: string }
  /** How long a request is tried again before the program gives up. Until the first answer, it gives up much sooner. */
  retryForMs: number
  /** Once aborted, nothing is tried again. Requests that were already sent may still be answered. */
  signal: AbortSignal
  onRetry: (retry: Retry) => void
}

/**
 * Calls Tally until it answers: with a success, or with a 4xx about the request.
 *
 * @throws ApiError when Tally answers 400, 404, 409, 413 or 422
 * @throws StartupError when the key is refused, when no Tally can be reached, or after retryForMs
 * @throws AbortedError when the program was stopped before an answer was received; the request may have been done
 */
export type Ask = <T>(call: (tally: Tally) => PromiseLike<T>) => Promise<T>

/**
 * Makes a function that repeats calls for a time, which may be hours. The client counts attempts instead. Repeating is
 * safe, because all calls can be identified. Events have idempotency keys, accounts and metrics have external ids.
 */
export function asking({ tally, place, retryForMs, signal, onRetry }: AskOptions): Ask {
  let reached = false
  return async (call) => {
    let startedAt: number | undefined
    for (let failures = 0; ; failures++) {
      const outcome = await attempt(() => call(tally), place)
      reached ||= !('nobodyThere' in outcome)
      if ('value' in outcome) return outcome.value
      if (signal.aborted) throw new AbortedError('interrupted')
      const now = performance.now()
      startedAt ??= now
      const leftMs = startedAt + (reached ? retryForMs : Math.min(retryForMs, FIRST_CONTACT_MS)) - now
      if (leftMs <= 0 || outcome.retryAfterMs > leftMs)
        throw reached ? gaveUp(outcome, retryForMs) : nobodyListens(place.url)
      const waitMs = Math.min(retryWaitMs(failures, Math.random(), outcome.retryAfterMs), leftMs)
      onRetry({ reason: outcome.reason, waitMs, leftMs })
      await sleep(waitMs, undefined, { signal }).catch(() => {
        throw new AbortedError('interrupted')
      })
    }
  }
}

/** How long to wait for a Tally that was never reached, because it may be starting. */
const FIRST_CONTACT_MS = 3_000

interface Failure {
  reason: string
  retryAfterMs: number
  /** Set when nothing listens at the address. */
  nobodyThere?: true
}

async function attempt<T>(
  call: () => PromiseLike<T>,
  place: AskOptions['place'],
): Promise<{ value: T } | Failure> {
  try {
    return { value: await call() }
  } catch (err) {
    if (ApiError.is(err) && !mayRetry('safe', err.status)) throw refusalOf(err, place)
    if (ApiError.is(err))
      return {
        reason: `Tally answered ${err.status} ${firstLine(err.text)}`,
        retryAfterMs: err.retryAfterMs ?? 0,
      }
    if (NotTallyError.is(err)) throw new StartupError(`${err.message}: is this the URL of a Tally?`)
    if (!TallyError.is(err)) throw err
    const failure: Failure = { reason: err.message, retryAfterMs: 0 }
    return isNobodyThere(err) ? { ...failure, nobodyThere: true } : failure
  }
}

const ABOUT_THE_REQUEST = new Set([400, 404, 409, 413, 422])

function refusalOf(err: ApiError, { url, keySource }: AskOptions['place']): Error {
  if (err.status === 401)
    return new StartupError(
      `the Tally at ${url} does not know the API key in ${keySource} (401); to make one, run: npm run keys -- issue`,
    )
  if (err.status === 403) return new StartupError(`the API key may not do this (403): ${firstLine(err.text)}`)
  return ABOUT_THE_REQUEST.has(err.status)
    ? err
    : new StartupError(`${err.message} (${err.status}): is this the URL of a Tally?`)
}

const TEXT_SHOWN_MAX = 200

function firstLine(text: string): string {
  const [line = ''] = text.split('\n')
  return line.length > TEXT_SHOWN_MAX ? `${line.slice(0, TEXT_SHOWN_MAX)}…` : line
}

function isNobodyThere(err: TallyError): boolean {
  const { cause } = err
  if (!ConnectionError.is(err) || !(cause instanceof Error) || !('code' in cause)) return false
  return cause.code === 'ECONNREFUSED' || cause.code === 'ENOTFOUND'
}

const nobodyListens = (url: string): StartupError =>
  new StartupError(`nothing listens on ${url}: start Tally with npm start, or give --url`)

function gaveUp({ reason, retryAfterMs }: Failure, retryForMs: number): StartupError {
  const asks = retryAfterMs > 0 ? `, and asks to wait ${Math.ceil(retryAfterMs / 1_000)} s` : ''
  return new StartupError(`gave up, --retry-for is ${Math.round(retryForMs / 1_000)} s: ${reason}${asks}`)
}
