import { setTimeout as sleep } from 'node:timers/promises'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { backOffMs, parseRetryAfter } from './back-off.ts'
import type { HttpAnswer, HttpRequest, HttpSender } from './http-sender.ts'

/** A request that is sent again. */
export interface Retry {
  /** Why there was no answer, as a clause. */
  reason: string
  waitMs: number
  /** For how much longer the request is tried. */
  leftMs: number
}

export interface ReportingClientOptions {
  sender: HttpSender
  /** For messages: the URL, and the source of the key. */
  place: { url: string; keySource: string }
  /** How long a request is tried again before the program gives up. Until the first answer, it gives up much sooner. */
  retryForMs: number
  /** Once aborted, nothing is tried again. Requests that were already sent may still be answered. */
  signal: AbortSignal
  onRetry: (retry: Retry) => void
}

/**
 * Sends a request until Tally answers it: with a 2xx, or with a 4xx about the request (400, 404, 409, 413, 422).
 *
 * @throws StartupError when the key is refused, when no Tally can be reached, or after retryForMs
 * @throws Interrupted when the program was stopped before an answer was received
 */
export type Ask = (request: HttpRequest) => Promise<HttpAnswer>

/** The program was stopped. The request may have been carried out. */
class Interrupted extends Error {
  constructor() {
    super('interrupted')
    this.name = 'Interrupted'
  }
}

/**
 * Makes a client that sends the same bytes again after 408, 429, any 5xx and cut connections. This is safe, because all
 * requests can be identified. Events have idempotency keys, accounts have external ids, and new metrics have an
 * Idempotency-Key header.
 */
export function reportingClient(options: ReportingClientOptions): Ask {
  const { place, retryForMs, signal, onRetry } = options
  let reached = false
  return async (request) => {
    let startedAt: number | undefined
    for (let attempt = 0; ; attempt++) {
      const outcome = await attemptOnce(options, request)
      reached ||= !('nobodyThere' in outcome)
      if ('answer' in outcome) return outcome.answer
      if (signal.aborted) throw new Interrupted()
      const now = performance.now()
      startedAt ??= now
      const leftMs = startedAt + (reached ? retryForMs : Math.min(retryForMs, FIRST_CONTACT_MS)) - now
      if (leftMs <= 0 || outcome.retryAfterMs > leftMs)
        throw reached ? gaveUp(outcome, retryForMs) : nobodyListens(place.url)
      const waitMs = Math.min(Math.max(backOffMs(attempt, Math.random()), outcome.retryAfterMs), leftMs)
      onRetry({ reason: outcome.reason, waitMs, leftMs })
      await sleep(waitMs, undefined, { signal }).catch(() => {
        throw new Interrupted()
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
type Outcome = { answer: HttpAnswer } | Failure

const ABOUT_THE_REQUEST = new Set([400, 404, 409, 413, 422])

async function attemptOnce(
  { sender, place }: ReportingClientOptions,
  request: HttpRequest,
): Promise<Outcome> {
  let answer: HttpAnswer
  try {
    answer = await sender.send(request)
  } catch (err) {
    const failure: Failure = { reason: describeFailure(err), retryAfterMs: 0 }
    return isNobodyThere(err) ? { ...failure, nobodyThere: true } : failure
  }
  const { status, text, retryAfter } = answer
  if ((status >= 200 && status < 300) || ABOUT_THE_REQUEST.has(status)) return { answer }
  if (status === 401)
    throw new StartupError(
      `the Tally at ${place.url} does not know the API key in ${place.keySource} (401); to make one, run: npm run keys -- issue`,
    )
  if (status === 403) throw new StartupError(`the API key may not do this (403): ${firstLine(text)}`)
  if (status === 408 || status === 429 || status >= 500)
    return {
      reason: `Tally answered ${status} ${firstLine(text)}`,
      retryAfterMs: parseRetryAfter(retryAfter, Date.now()),
    }
  throw new StartupError(
    `${request.method} ${request.path} was answered with ${status}: is this the URL of a Tally?`,
  )
}

const TEXT_SHOWN_MAX = 200

function firstLine(text: string): string {
  const [line = ''] = text.split('\n')
  return line.length > TEXT_SHOWN_MAX ? `${line.slice(0, TEXT_SHOWN_MAX)}…` : line
}

/** The message of a failure. Of an AggregateError, only the inner errors contain the addresses that Node tried. */
function describeFailure(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return describeFailure(err.errors[0])
  return err instanceof Error ? err.message : String(err)
}

const isNobodyThere = (err: unknown): boolean =>
  err instanceof Error && 'code' in err && (err.code === 'ECONNREFUSED' || err.code === 'ENOTFOUND')

const nobodyListens = (url: string): StartupError =>
  new StartupError(`nothing listens on ${url}: start Tally with npm start, or give --url`)

function gaveUp({ reason, retryAfterMs }: Failure, retryForMs: number): StartupError {
  const asks = retryAfterMs > 0 ? `, and asks to wait ${Math.ceil(retryAfterMs / 1_000)} s` : ''
  return new StartupError(`gave up, --retry-for is ${Math.round(retryForMs / 1_000)} s: ${reason}${asks}`)
}
