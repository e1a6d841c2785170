import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Shares } from '../batching/shares.ts'
import type { Caller } from '../domain/api-key.ts'
import type { Logger } from '../logging/logger.ts'
import type { RateLimits } from '../rate-limit/rate-limits.ts'
import { type FindCaller, findCallerOf, identify } from './authentication.ts'
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
  /** @see OperationsAppOptions.admitWrite */
  admitWrite?: () => void
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
  { findCaller, limits: { wrongKeys }, log, requests, admitWrite = () => undefined }: AdmitOptions,
): RequestListener {
  const find = matcher(operations)
  const observers = new Map(operations.map((operation) => [operation, requests(routeOf(operation))]))
  const fail = answerError(log)

  const refuse = (err: unknown, req: IncomingMessage, res: ServerResponse) => {
    if (!res.headersSent) setCommonHeaders(res)
    if (!fail(err, req, res)) res.destroy()
  }
  /** Without a promise where nobody has to wait: nearly every request comes this way. */
  const begin = (caller: Caller, req: IncomingMessage, res: ServerResponse) => {
    noteCaller(req, caller)
    countUnderWay(caller.companyId, res)
    const turn = awaitRequest(() => isAwaited(req, res), caller.companyId)
    if (turn === undefined) app(req, res)
    else
      turn
        .then(() => {
          app(req, res)
        })
        .catch((err: unknown) => {
          refuse(err, req, res)
        })
  }
  const beginUnknown = async (
    found: Exclude<ReturnType<FindCaller>, Caller>,
    req: IncomingMessage,
    res: ServerResponse,
  ) => {
    begin(await identify(req, { findCaller, wrongKeys }, found), req, res)
  }

  return (req, res) => {
    const operation = notedCaller(req) === undefined ? find(req) : undefined
    if (operation === undefined) {
      app(req, res)
      return
    }
    observers.get(operation)?.(res)
    try {
      // Before it is looked whose key it is: that depends on a clock, too.
      if (isWrite(operation)) admitWrite()
    } catch (err) {
      refuse(err, req, res)
      return
    }
    const found = findCallerOf(req, findCaller)
    if (found === undefined || found instanceof Promise)
      beginUnknown(found, req, res).catch((err: unknown) => {
        refuse(err, req, res)
      })
    else
      try {
        begin(found, req, res)
      } catch (err) {
        refuse(err, req, res)
      }
  }
}

/** What requests of an operation are counted as. */
export const routeOf = ({ method, path }: Operation): string => `${method.toUpperCase()} ${path}`

/** Whether it changes anything; of what needs a key. */
const isWrite = ({ permissions }: Operation): boolean => permissions?.includes('read:all') === false

/** What stands below a part of a path: other parts, any part at all, and what the path asks for if it ends here. */
interface PathNode {
  parts: Map<string, PathNode>
  any?: PathNode
  operation?: Operation
}

/** Finds the operation that a request asks for, among those that need a key. */
function matcher(operations: readonly Operation[]): (req: IncomingMessage) => Operation | undefined {
  const roots = new Map<string, PathNode>()
  for (const operation of operations) {
    if (operation.permissions === undefined) continue
    const method = operation.method.toUpperCase()
    let node: PathNode = roots.get(method) ?? { parts: new Map() }
    roots.set(method, node)
    for (const part of operation.path.slice(1).split('/')) {
      const next: PathNode = (part.startsWith('{') ? node.any : node.parts.get(part)) ?? { parts: new Map() }
      if (part.startsWith('{')) node.any = next
      else node.parts.set(part, next)
      node = next
    }
    node.operation = operation
  }
  return ({ method = '', url = '' }) => {
    const end = url.indexOf('?')
    const parts = url.slice(1, end < 0 ? undefined : end).split('/')
    return operationBelow(roots.get(method === 'HEAD' ? 'GET' : method), parts)
  }
}

/** As Express finds it: what begins as a path by name may still be one with any part there. */
function operationBelow(
  node: PathNode | undefined,
  parts: readonly string[],
  index = 0,
): Operation | undefined {
  const part = parts[index]
  if (node === undefined || part === undefined) return node?.operation
  return operationBelow(node.parts.get(part), parts, index + 1) ?? operationBelow(node.any, parts, index + 1)
}

/** Of one company, in this process. */
const UNDER_WAY_MAX = 1_000
const underWay = new Shares({ max: Infinity, maxOfOne: UNDER_WAY_MAX })
/** Less of an answer is the system's to keep, for a client that is slow to read. */
const UNREAD_BYTES = 64 * 1_024

/**
 * Whether a company may have one more answer.
 *
 * @throws HttpError 503 when it leaves too much unread
 */
export function requireAnswersRead(companyId: string): void {
  if (bytesInFlight.isFull(companyId))
    throw new HttpError(
      503,
      'too many bodies are on their way, or answers were not read: read them, and try again',
      { 'Retry-After': '1' },
    )
}

/**
 * Counts a request until it is answered and the answer was read, and what of the answer was not.
 *
 * @throws HttpError 429 when a company has too many under way; 503 when it leaves too much unread; 400 when the client
 *   has gone, as nothing would end the count
 */
export function countUnderWay(companyId: string, res: ServerResponse): void {
  if (res.closed) throw new HttpError(400, 'the request was cut short')
  requireAnswersRead(companyId)
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
    if (bytesInFlight.isFull(companyId)) {
      res.destroy() // those that were let in together read none of theirs
      return
    }
    unread = left
    bytesInFlight.add(companyId, unread)
  })
  res.once('close', () => {
    underWay.give(companyId, 1)
    if (unread > 0) bytesInFlight.give(companyId, unread)
  })
}
