import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Shares } from '../batching/shares.ts'
import { type Caller, READ_ACCOUNT } from '../domain/api-key.ts'
import type { Logger } from '../logging/logger.ts'
import type { RateLimits } from '../rate-limit/rate-limits.ts'
import { type FindCaller, findCallerOf, identify } from './authentication.ts'
import { awaitRequest } from './body-slices.ts'
import { answerPreflight, type BrowserOrigins, NO_ORIGINS, pageOf, showToPage } from './browser-origins.ts'
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
  limits: Pick<RateLimits, 'wrongKeys' | 'addressOf'>
  log: Logger
  /** Counts requests by route. */
  requests: RequestMetrics
  /** @see OperationsAppOptions.admitWrite */
  admitWrite?: () => void
  /** @see OperationsAppOptions.browserOrigins */
  browserOrigins?: BrowserOrigins
}

/** Requests that are not in openapi.yaml are counted under this one route, because their paths may be any text. */
export const OTHER_ROUTES = 'other'

/**
 * Runs before an Express app: finds the caller of a request, counts the caller's open requests, and begins the
 * request in its turn. It passes operations that need no key, and requests outside the contract, directly to the app.
 *
 * Why before Express: a refusal costs far less here, so that a flood of wrong keys does not delay others. Besides, a
 * request that waits for its turn has used few resources yet.
 */
export function admit(
  app: RequestListener,
  operations: readonly Operation[],
  options: AdmitOptions,
): RequestListener {
  const { findCaller, log, requests, admitWrite = () => undefined, browserOrigins = NO_ORIGINS } = options
  const access = { findCaller, limits: options.limits }
  const find = matcher(operations)
  const isPreflight = preflights(find, browserOrigins, requests(OTHER_ROUTES))
  const observers = new Map(operations.map((operation) => [operation, requests(routeOf(operation))]))
  const fail = answerError(log)

  const refuse = (err: unknown, req: IncomingMessage, res: ServerResponse) => {
    if (!res.headersSent) setCommonHeaders(res)
    if (!fail(err, req, res)) res.destroy()
  }
  /** Begins a request in its turn. No promise is made in the usual case, in which the request need not wait. */
  const begin = (caller: Caller, req: IncomingMessage, res: ServerResponse) => {
    noteCaller(req, caller)
    if (caller.accountId !== undefined) showToPage(req, res, browserOrigins)
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
    operation: Operation,
    req: IncomingMessage,
    res: ServerResponse,
  ) => {
    try {
      begin(await identify(req, access, found), req, res)
    } catch (err) {
      // A page can then tell a key that has ended from a broken connection.
      if (isForAccounts(operation) && notedCaller(req) === undefined) showToPage(req, res, browserOrigins)
      refuse(err, req, res)
    }
  }
  return (req, res) => {
    if (isPreflight(req, res)) return
    const operation = notedCaller(req) === undefined ? find(req) : undefined
    if (operation === undefined) {
      app(req, res)
      return
    }
    observers.get(operation)?.(res)
    try {
      // This check comes before the look-up of the key, because the look-up depends on the clock, too.
      if (isWrite(operation)) admitWrite()
    } catch (err) {
      refuse(err, req, res)
      return
    }
    const found = findCallerOf(req, findCaller)
    if (found === undefined || found instanceof Promise) void beginUnknown(found, operation, req, res)
    else
      try {
        begin(found, req, res)
      } catch (err) {
        refuse(err, req, res)
      }
  }
}

/** The route under which requests of an operation are counted. */
export const routeOf = ({ method, path }: Operation): string => `${method.toUpperCase()} ${path}`

/**
 * Makes the function that answers preflights: the question of a browser whether a page may send a request with a key.
 * Pages may ask what account keys may.
 *
 * @returns whether a request was a preflight, and is answered
 */
function preflights(
  find: ReturnType<typeof matcher>,
  origins: BrowserOrigins,
  observe: ReturnType<RequestMetrics>,
): (req: IncomingMessage, res: ServerResponse) => boolean {
  return (req, res) => {
    if (req.method !== 'OPTIONS') return false
    const { 'access-control-request-method': method } = req.headers
    const page = pageOf(req, origins)
    if (page === undefined || method === undefined) return false
    const operation = find({ method, url: req.url })
    if (operation === undefined || !isForAccounts(operation)) return false
    observe(res)
    setCommonHeaders(res)
    answerPreflight(res, page)
    return true
  }
}

/** Whether an account key may ask for an operation. */
const isForAccounts = ({ permissions }: Operation): boolean => permissions?.includes(READ_ACCOUNT) === true

/** Whether an operation that needs a key may change data. */
const isWrite = ({ permissions }: Operation): boolean => permissions?.includes('read:all') === false

/**
 * A node in a tree of paths. Its children are parts with a fixed name, and a parameter. It has the operation of the
 * path that ends here, if there is one.
 */
interface PathNode {
  parts: Map<string, PathNode>
  any?: PathNode
  operation?: Operation
}

/** Returns a function that finds the operation of a request, among those that need a key. */
function matcher(
  operations: readonly Operation[],
): (req: Pick<IncomingMessage, 'method' | 'url'>) => Operation | undefined {
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

/** Matches as Express does: if no path with this fixed part matches, a path with a parameter instead may match. */
function operationBelow(
  node: PathNode | undefined,
  parts: readonly string[],
  index = 0,
): Operation | undefined {
  const part = parts[index]
  if (node === undefined || part === undefined) return node?.operation
  return operationBelow(node.parts.get(part), parts, index + 1) ?? operationBelow(node.any, parts, index + 1)
}

/** The maximum number of open requests of one company in this process. */
const UNDER_WAY_MAX = 1_000
const underWay = new Shares({ max: Infinity, maxOfOne: UNDER_WAY_MAX })
/** If less than this is left of an answer, it does not count as unread, because the system's buffers can take it. */
const UNREAD_BYTES = 64 * 1_024

/**
 * Checks that a company may have one more answer.
 *
 * @throws HttpError 503 when the clients of the company have left too many bytes of answers unread
 */
export function requireAnswersRead(companyId: string): void {
  if (bytesInFlight.isFull(companyId))
    throw new HttpError(
      503,
      'too many bodies are being sent, or too many answers are not read: read the answers, and try again',
      { 'Retry-After': '1' },
    )
}

/**
 * Counts a request as open until its answer was read. It also counts the unread bytes of the answer.
 *
 * @throws HttpError 429 when a company has too many open requests; 503 as in requireAnswersRead; 400 when the
 *   connection is closed, because the request would then count as open for ever
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
      res.destroy() // requests that were admitted at the same time have left too many bytes unread
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
