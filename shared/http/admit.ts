import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Shares } from '../batching/shares.ts'
import type { Logger } from '../logging/logger.ts'
import type { RateLimits } from '../rate-limit/rate-limits.ts'
import { identify, type FindCaller } from './authentication.ts'
import { awaitRequest } from './body-slices.ts'
import { bytesInFlight } from './bytes-in-flight.ts'
import { noteCaller, notedCaller } from './callers.ts'
import { setCommonHeaders } from './common-headers.ts'
import { answerError } from './error-responder.ts'
import { HttpError } from './http-error.ts'
import type { Operation } from './openapi-document.ts'
import { isAwaited } from './request-deadline.ts'
import type { RequestMetrics } from './request-metrics.ts'

export interface AdmitOptions {
  findCaller: FindCaller
  limits: Pick<RateLimits, 'wrongKeys'>
  log: Logger
  /** Counts requests by route. */
  requests: RequestMetrics
}

/**
 * Stands before an Express app: finds out who makes a request, counts what they have under way, and begins it in its
 * turn. What needs no key, and what is no operation of the contract, goes straight to the app.
 *
 * Why before Express: to be refused takes a tenth of the time there, so that a flood of wrong keys leaves others their
 * turn; and whoever waits has not begun to take any.
 */
export function admit(
  app: RequestListener,
  operations: readonly Operation[],
  { findCaller, limits: { wrongKeys }, log, requests }: AdmitOptions,
): RequestListener {
  const find = matcher(operations)
  const observers = new Map(operations.map((operation) => [operation, requests(routeOf(operation))]))
  const fail = answerError(log)

  async function begin(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const caller = await identify(req, { findCaller, wrongKeys })
    noteCaller(req, caller)
    countUnderWay(caller.companyId, res)
    const turn = awaitRequest(() => isAwaited(req, res), caller.companyId)
    if (turn !== undefined) await turn
    app(req, res)
  }

  return (req, res) => {
    const operation = notedCaller(req) === undefined ? find(req) : undefined
    if (operation === undefined) {
      app(req, res)
      return
    }
    observers.get(operation)?.(res)
    begin(req, res).catch((err: unknown) => {
      if (!res.headersSent) setCommonHeaders(res)
      if (!fail(err, req, res)) res.destroy()
    })
  }
}

/** What requests of an operation are counted as. */
export const routeOf = ({ method, path }: Operation): string => `${method.toUpperCase()} ${path}`

/** Finds the operation that a request asks for, among those that need a key. */
function matcher(operations: readonly Operation[]): (req: IncomingMessage) => Operation | undefined {
  const byMethod = new Map<string, { path: RegExp; operation: Operation }[]>()
  for (const operation of operations) {
    if (operation.permission === undefined) continue
    const method = operation.method.toUpperCase()
    const path = new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    byMethod.set(method, [...(byMethod.get(method) ?? []), { path, operation }])
  }
  return ({ method = '', url = '' }) => {
    const [path = ''] = url.split('?', 1)
    const ofMethod = byMethod.get(method === 'HEAD' ? 'GET' : method) ?? []
    return ofMethod.find((known) => known.path.test(path))?.operation
  }
}

/** Of one company, in this process. */
const UNDER_WAY_MAX = 1_000
const underWay = new Shares({ max: Infinity, maxOfOne: UNDER_WAY_MAX })
/** Less of an answer is the system's to keep, for a client that is slow to read. */
const UNREAD_BYTES = 64 * 1_024

/**
 * Counts a request until it is answered and the answer was read, and what of the answer was not.
 *
 * @throws HttpError 429 when a company has too many under way; 503 when it leaves too much unread
 */
export function countUnderWay(companyId: string, res: ServerResponse): void {
  if (bytesInFlight.isFull(companyId))
    throw new HttpError(503, 'too many answers were not read: read them, and try again', {
      'Retry-After': '1',
    })
  if (!underWay.take(companyId, 1))
    throw new HttpError(429, 'rate limit exceeded', {
      'RateLimit-Policy': `"requests-at-once";q=${UNDER_WAY_MAX}`,
      RateLimit: '"requests-at-once";r=0;t=1',
      'Retry-After': '1',
    })
  let unread = 0
  res.once('prefinish', () => {
    const left = res.writableLength
    if (left < UNREAD_BYTES || res.closed) return
    unread = left
    bytesInFlight.add(companyId, unread)
  })
  res.once('close', () => {
    underWay.give(companyId, 1)
    if (unread > 0) bytesInFlight.give(companyId, unread)
  })
}
