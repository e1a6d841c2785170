import { OPERATIONS } from '../operations.gen.ts'
import { judge, usedKeyOf } from './answers.ts'
import { ApiError } from './api-errors.ts'
import { EndedEarly, withDeadline } from './deadline.ts'
import {
  AbortedError,
  ConnectionError,
  describeFailure,
  OutcomeUnknownError,
  type TallyError,
  TimeoutError,
} from './errors.ts'
import { callHook, type Hooks, type Logger, type RequestInfo, type ResponseInfo } from './hooks.ts'
import type { KeySource } from './keys.ts'
import type { OperationFacts } from './operation-facts.ts'
import { type FetchedPage, type Pages, pagesOf } from './pages.ts'
import { withIdentities } from './reports.ts'
import { bodyText, type Content, targetOf } from './requests.ts'
import { mayBeDone, mayRetry, RETRY_AFTER_MAX_MS, retryWaitMs } from './retries.ts'
import type { Transport, TransportAnswer } from './transport.ts'

/** What a caller may choose for one call. */
export interface CallOptions {
  /** For operations that take an Idempotency-Key. Without it, the client makes one for operations that need it. */
  idempotencyKey?: string | undefined
  /** Ends the call, also while it waits for another attempt. */
  signal?: AbortSignal | undefined
  /** How long each attempt may take, from the connection to the end of the answer. */
  timeoutMs?: number | undefined
  /** How often the request is sent again after a failure; 0 is never. */
  maxRetries?: number | undefined
  /** Further headers. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** Calls operations. */
export interface Call {
  one<A>(
    operation: OperationFacts,
    path: readonly string[],
    content: Content,
    options?: CallOptions,
  ): Promise<A>
  pages<I>(
    operation: OperationFacts,
    path: readonly string[],
    content: Content,
    options?: CallOptions,
  ): Pages<I>
  /**
   * Sends a request once, or twice when the key was refused and there is another one.
   *
   * @returns the answer, whatever it says
   * @throws TallyError when there is no whole answer
   */
  answer(
    operation: OperationFacts,
    path: readonly string[],
    content: Content,
    options?: CallOptions,
  ): Promise<TransportAnswer>
  /** The key of the next request. */
  key(): Promise<string>
}

export interface CallSettings {
  /** Without a slash at its end. */
  baseUrl: string
  keys: KeySource
  transport: Transport
  timeoutMs: number
  maxRetries: number
  hooks: Hooks
  logger: Logger | undefined
  /** Milliseconds since 1970. */
  now: () => number
  /** From 0 up to 1. */
  random: () => number
  /** @throws EndedEarly when the signal ends the wait */
  wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/** A request, the same for all its attempts. */
interface Prepared {
  operation: OperationFacts
  path: readonly string[]
  options: CallOptions
  url: string
  /** The body before it became text. */
  sent: unknown
  body: string | Uint8Array | undefined
  idempotencyKey: string | undefined
  /** Whether the client made the key, so that nobody else can have used it. */
  isOwnKey: boolean
}

/** How an attempt ended. */
interface Outcome {
  value?: unknown
  error?: TallyError
  /** Undefined when there was no whole answer. */
  answer?: TransportAnswer
  context: unknown
  info: ResponseInfo
}

/** Makes the calls of a client. */
export function makeCall(settings: CallSettings): Call {
  const one = async <A>(
    operation: OperationFacts,
    path: readonly string[],
    content: Content,
    options: CallOptions = {},
  ): Promise<A> => (await perform(settings, prepare(settings, operation, path, content, options))) as A
  return {
    one,
    pages: <I>(
      operation: OperationFacts,
      path: readonly string[],
      { query }: Content,
      options?: CallOptions,
    ) =>
      pagesOf<I>(operation.cursor ?? 'id', operation.id, (after) =>
        one<FetchedPage<I>>(
          operation,
          path,
          { query: after === undefined ? query : { ...query, starting_after: after } },
          options,
        ),
      ),
    answer: (operation, path, content, options = {}) =>
      answerOf(settings, prepare(settings, operation, path, content, options)),
    key: () => inTime(settings, {}, () => settings.keys.get()),
  }
}

/** @throws TypeError when the call cannot be sent */
function prepare(
  { baseUrl, now }: CallSettings,
  operation: OperationFacts,
  path: readonly string[],
  content: Content,
  options: CallOptions,
): Prepared {
  const isOwnKey = operation.retry === 'keyed' && options.idempotencyKey === undefined
  const sent = withIdentities(operation, content.body, options.idempotencyKey, now())
  return {
    operation,
    path,
    options,
    url: baseUrl + targetOf(operation, path, content.query),
    sent,
    body: bodyText(sent),
    idempotencyKey: isOwnKey ? `sdk-${crypto.randomUUID().replaceAll('-', '')}` : options.idempotencyKey,
    isOwnKey,
  }
}

/** Gets a key, for as long as an attempt may take. */
async function inTime<T>(
  { keys, timeoutMs }: CallSettings,
  options: CallOptions,
  get: () => Promise<T>,
  facts: { operation: string; attempts: number } = { operation: 'apiKey', attempts: 0 },
): Promise<T> {
  try {
    return await withDeadline(options.timeoutMs ?? timeoutMs, options.signal, get)
  } catch (err) {
    if (!(err instanceof EndedEarly)) throw err
    if (err.why === 'aborted') throw new AbortedError('the call was aborted', { ...facts, cause: err.cause })
    keys.giveUp()
    throw new TimeoutError('the function apiKey did not return in time', facts)
  }
}

async function answerOf(settings: CallSettings, request: Prepared): Promise<TransportAnswer> {
  const facts = { operation: request.operation.id, attempts: 0 }
  const key = await inTime(settings, request.options, () => settings.keys.get(), facts)
  const first = await attemptOnce(settings, request, key, 1)
  const renewed =
    first.answer?.status === 401
      ? await inTime(settings, request.options, () => settings.keys.renew(key), { ...facts, attempts: 1 })
      : undefined
  const { answer, error } = renewed === undefined ? first : await attemptOnce(settings, request, renewed, 2)
  if (answer === undefined) throw error as TallyError
  return answer
}

/** Sends a request until it is done, or must not be sent again. */
async function perform(settings: CallSettings, request: Prepared): Promise<unknown> {
  const { operation, options } = request
  const { maxRetries = settings.maxRetries } = options
  let mayHaveBeenDone = false
  const factsOf = (attempts: number) => ({ operation: operation.id, attempts })
  let key = await inTime(settings, options, () => settings.keys.get(), factsOf(0))
  let mayRenew = true
  for (let attempt = 1, failures = 0; ; attempt++) {
    const outcome = await attemptOnce(settings, request, key, attempt)
    const { error, answer } = outcome
    if (error === undefined) return outcome.value
    if (answer?.status === 401 && mayRenew) {
      mayRenew = false
      const refused = key
      const renewed = await inTime(settings, options, () => settings.keys.renew(refused), factsOf(attempt))
      if (renewed === undefined) throw error
      key = renewed
      continue
    }
    const used = answer && usedKeyOf(answer)
    const isOurs = attempt > 1 && (request.isOwnKey || mayHaveBeenDone)
    if (used !== undefined && !used.isOther && isOurs) return getMade(settings, request, used.id, error)
    if (!isFailure(error, answer, operation) || failures >= maxRetries) throw error
    const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined
    if (retryAfterMs !== undefined && retryAfterMs > RETRY_AFTER_MAX_MS) throw error
    mayHaveBeenDone ||= mayBeDone(answer?.status)
    const waitMs = retryWaitMs(failures++, settings.random(), retryAfterMs)
    callHook(settings.logger, () => settings.hooks.onRetry?.({ ...outcome.info, waitMs }, outcome.context))
    await settings.wait(waitMs, options.signal).catch((err: unknown) => {
      throw endedError(err, request, attempt)
    })
  }
}

/** Whether an attempt failed so that another one makes sense. */
function isFailure(
  error: TallyError,
  answer: TransportAnswer | undefined,
  { retry }: OperationFacts,
): boolean {
  if (AbortedError.is(error)) return false
  if (answer !== undefined && answer.status < 400) return false // an answer that is not Tally's
  return mayRetry(retry, answer?.status)
}

async function attemptOnce(
  settings: CallSettings,
  request: Prepared,
  key: string,
  attempt: number,
): Promise<Outcome> {
  const { hooks, logger } = settings
  const { operation } = request
  const start: RequestInfo = {
    operation: operation.id,
    method: operation.method,
    path: operation.path,
    attempt,
  }
  const added: Record<string, string> = {}
  const context = callHook(logger, () => hooks.onRequest?.({ ...start, headers: added }))
  const startedAt = settings.now()
  const end = await send(settings, request, headersOf(request, key, added), attempt)
  const info: ResponseInfo = {
    ...start,
    status: end.answer?.status,
    durationMs: settings.now() - startedAt,
    error: end.error,
  }
  callHook(logger, () => hooks.onResponse?.(info, context))
  return { ...end, context, info }
}

async function send(
  { transport, timeoutMs }: CallSettings,
  request: Prepared,
  headers: Readonly<Record<string, string>>,
  attempt: number,
): Promise<Pick<Outcome, 'value' | 'error' | 'answer'>> {
  const { operation, options, url, body, sent } = request
  const { method } = operation
  try {
    const answer = await withDeadline(options.timeoutMs ?? timeoutMs, options.signal, (signal) =>
      transport.send({ method, url, headers, body, signal }),
    )
    return { ...judge(operation, sent, answer, { operation: operation.id, attempts: attempt }), answer }
  } catch (err) {
    return { error: endedError(err, request, attempt) }
  }
}

/** The error of an attempt, or of a wait, that ended without an answer. */
function endedError(err: unknown, { operation, url }: Prepared, attempts: number): TallyError {
  const facts = { operation: operation.id, attempts }
  if (err instanceof EndedEarly)
    return err.why === 'aborted'
      ? new AbortedError('the call was aborted', { ...facts, cause: err.cause })
      : new TimeoutError('Tally did not answer in time', facts)
  const { origin } = new URL(url)
  return new ConnectionError(`no answer from ${origin}: ${describeFailure(err)}`, { ...facts, cause: err })
}

/** The headers of an attempt. Those of the client come last, so no other one replaces them. */
function headersOf(
  { body, idempotencyKey, options }: Prepared,
  key: string,
  added: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of [...Object.entries(options.headers ?? {}), ...Object.entries(added)])
    headers[name.toLowerCase()] = value
  headers['x-api-key'] = key
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
  return headers
}

/**
 * Returns what an earlier attempt made, whose answer was lost.
 *
 * @param refused the 409 of the repeat
 */
async function getMade(
  settings: CallSettings,
  { operation, path, options }: Prepared,
  id: string | undefined,
  refused: TallyError,
): Promise<unknown> {
  const facts = { operation: operation.id, attempts: refused.attempts }
  const made = Object.values<OperationFacts>(OPERATIONS).find((one) => one.id === operation.made)
  const names = made?.path.match(/\{\w+\}/g)?.length ?? 0
  const values = path.length === names ? path : (id?.split('/') ?? [])
  if (made === undefined || values.length !== names)
    throw new OutcomeUnknownError(
      `the request was done${id === undefined ? '' : ` and made ${id}`}, but its answer was lost`,
      id,
      { ...facts, cause: refused },
    )
  const request = prepare(settings, made, values, {}, { ...options, idempotencyKey: undefined })
  return perform(settings, request).catch((err: unknown) => {
    if (AbortedError.is(err)) throw err
    throw new OutcomeUnknownError(
      `the request was done${id === undefined ? '' : ` and made ${id}`}, but its answer was lost, and it cannot be read`,
      id,
      { ...facts, cause: err },
    )
  })
}
