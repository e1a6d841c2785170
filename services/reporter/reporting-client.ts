import { setTimeout as sleep } from 'node:timers/promises'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { backOffMs, parseRetryAfter } from './back-off.ts'
import type { HttpAnswer, HttpRequest, HttpSender } from './http-sender.ts'

/** A request that goes out again. */
export interface Retry {
  /** What came instead of an answer, as a clause. */
  reason: string
  waitMs: number
  /** For how much longer it is tried. */
  leftMs: number
}

export interface ReportingClientOptions {
  sender: HttpSender
  /** For how long one request is tried again before the program gives up. */
  patienceMs: number
  /** Once aborted, nothing is tried again; what is on its way may still be answered. */
  signal: AbortSignal
  onRetry: (retry: Retry) => void
}

/**
 * Asks Tally until it answers: with a 2xx, or with a 4xx that is about the request (400, 404, 409, 413, 422).
 *
 * @throws StartupError when it may not, when nobody like Tally is there, or when patience ends
 * @throws Interrupted when it was told to stop before an answer came
 */
export type Ask = (request: HttpRequest) => Promise<HttpAnswer>

/** The program was told to stop; whether the request was carried out is not known. */
class Interrupted extends Error {
  constructor() {
    super('interrupted')
    this.name = 'Interrupted'
  }
}

/**
 * Sends the same bytes again after 408, 429, any 5xx and cut connections. That is safe for everything we send: events
 * carry idempotency keys, accounts external ids, and metrics an Idempotency-Key header.
 */
export function reportingClient({ sender, patienceMs, signal, onRetry }: ReportingClientOptions): Ask {
  return async (request) => {
    let deadline: number | undefined
    for (let attempt = 0; ; attempt++) {
      const outcome = await attemptOnce(sender, request)
      if ('answer' in outcome) return outcome.answer
      if (signal.aborted) throw new Interrupted()
      const now = performance.now()
      deadline ??= now + patienceMs
      const leftMs = deadline - now
      if (leftMs <= 0 || outcome.retryAfterMs > leftMs) throw gaveUp(outcome, patienceMs)
      const waitMs = Math.min(Math.max(backOffMs(attempt, Math.random()), outcome.retryAfterMs), leftMs)
      onRetry({ reason: outcome.reason, waitMs, leftMs })
      await sleep(waitMs, undefined, { signal }).catch(() => {
        throw new Interrupted()
      })
    }
  }
}

interface Failure {
  reason: string
  retryAfterMs: number
}
type Outcome = { answer: HttpAnswer } | Failure

const ABOUT_THE_REQUEST = new Set([400, 404, 409, 413, 422])

async function attemptOnce(sender: HttpSender, request: HttpRequest): Promise<Outcome> {
  let answer: HttpAnswer
  try {
    answer = await sender.send(request)
  } catch (err) {
    return { reason: describeFailure(err), retryAfterMs: 0 }
  }
  const { status, text, retryAfter } = answer
  if ((status >= 200 && status < 300) || ABOUT_THE_REQUEST.has(status)) return { answer }
  if (status === 401) throw new StartupError('Tally does not know this API key (401)')
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

/** Node says which addresses it tried only in the parts of an AggregateError. */
function describeFailure(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return describeFailure(err.errors[0])
  return err instanceof Error ? err.message : String(err)
}

function gaveUp({ reason, retryAfterMs }: Failure, patienceMs: number): StartupError {
  const asks = retryAfterMs > 0 ? `, and asks to wait ${Math.ceil(retryAfterMs / 1_000)} s` : ''
  return new StartupError(`gave up, --patience is ${Math.round(patienceMs / 1_000)} s: ${reason}${asks}`)
}
