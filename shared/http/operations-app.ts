import type { RequestListener } from 'node:http'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { requestSemaphore } from '../batching/request-semaphore.ts'
import type { Logger } from '../logging/logger.ts'
import type { TestWorlds } from '../postgres/test-worlds.ts'
import type { RateLimits } from '../rate-limit/rate-limits.ts'
import { admit, OTHER_ROUTES, requireAnswersRead, routeOf } from './admit.ts'
import { authenticate, authenticateAgain, callerOf, type FindCaller } from './authentication.ts'
import type { BrowserOrigins } from './browser-origins.ts'
import { notedCaller } from './callers.ts'
import { checkQuery } from './check-query.ts'
import { setCommonHeaders } from './common-headers.ts'
import { faultDescriber, type SchemaFault } from './describe-fault.ts'
import { CLOCK, enterWorld, type WorldAccess } from './enter-world.ts'
import { errorResponder } from './error-responder.ts'
import { goneSignal } from './gone-signal.ts'
import { HttpError } from './http-error.ts'
import { limitRate } from './limit-rate.ts'
import { nullsAsAbsent } from './nulls-as-absent.ts'
import { listOperations, type Operation, readOpenApiDocument } from './openapi-document.ts'
import { parseBody, readBody } from './read-json-body.ts'
import { refuseControlText } from './refuse-control-text.ts'
import { refuseLostIds } from './refuse-lost-ids.ts'
import { requestDeadline } from './request-deadline.ts'
import type { RequestMetrics } from './request-metrics.ts'
import { needsBody } from './request-schema.ts'
import { requestValidators } from './request-validators.ts'

type LongWork = keyof typeof LONG_AT_ONCE_OF_ONE

/** The handler of an operation. */
export interface Handler {
  handle: RequestHandler
  /**
   * Explains a body that openapi.yaml does not allow. If it returns undefined, the answer names only the first fault.
   */
  explainInvalid?: (body: unknown) => string | undefined
  /** How the operation uses the world of a test company (WorldAccess). Default: `look` for a GET, otherwise `enter`. */
  worldAccess?: WorldAccess
  /**
   * Set for an operation that reads much. Few such operations run at once, and companies take turns. A company may run
   * more of the operations that share batches of reads (`batched`), because one batch serves several of them.
   */
  isLong?: LongWork
}

/** Handlers of operations, by their ids in openapi.yaml. */
export type Handlers = Readonly<Record<string, Handler>>

export interface OperationsAppOptions {
  findCaller: FindCaller
  worlds: TestWorlds
  log: Logger
  /** The maximum number of bytes that a body may have after it is inflated. */
  bodyBytesMax: number
  limits: RateLimits
  /** The time for answers, in milliseconds since 1970. Default: this machine's clock. */
  nowMs?: () => number
  /**
   * Called before anything else for operations that write.
   *
   * @throws DomainError with the code `suspended`, as long as no operation may write
   */
  admitWrite?: () => void
  /** Whether requests count against the limit of requests. False if the handlers use another limit. */
  limitsRequests?: boolean
  requestTimeoutMs: number
  /** Whether handlers themselves check bodies for text that cannot be stored. */
  handlersCheckText?: boolean
  /** Handlers of requests that are not in openapi.yaml, such as those for the files of web pages. */
  otherHandlers?: readonly RequestHandler[]
  /** The origins of web pages that may read the answers to account keys. Default: none. */
  browserOrigins?: BrowserOrigins
  /** Counts requests by route. */
  requests?: RequestMetrics
  /** Whether Tally's own answers are checked against openapi.yaml, too. Only tests set it. */
  validateResponses?: boolean
}

/**
 * Makes an HTTP service from handlers. Each operation of openapi.yaml that has a handler is served at its path. The
 * steps are the same for all operations: find the caller, read the body, check the request against openapi.yaml, call
 * the handler.
 *
 * @throws Error when a handler's operation is not in openapi.yaml
 */
export function operationsApp(handlers: Handlers, options: OperationsAppOptions): RequestListener {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  // Paths match exactly as in openapi.yaml. Otherwise a proxy that blocks a path would have to block all its spellings.
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.locals[CLOCK] = options.nowMs
  app.use(commonHeaders, getForHead)
  const checkText = refuseControlText(options.handlersCheckText !== true)
  const deadline = requestDeadline(options.requestTimeoutMs)
  const limit = options.limitsRequests === false ? [] : [limitRequests(options.limits)]
  const document = readOpenApiDocument()
  const { requests = () => () => undefined } = options
  const observe = observerOf(requests)
  const access = { findCaller: options.findCaller, limits: options.limits }
  const inTurn = { batched: longTurns('batched'), alone: longTurns('alone') }
  const validatorsOf = requestValidators(options.validateResponses ?? false)
  const operations = listOperations(document)
  const existing = new Set(operations.map(({ operationId }) => operationId))
  for (const id of Object.keys(handlers))
    if (!existing.has(id)) throw new Error(`openapi.yaml has no operation ${id}`)
  for (const [path, group] of groupByPath(operations)) {
    const route = app.route(expressPath(path))
    const ours = group.filter(({ operationId }) => operationId in handlers)
    const validate = ours.length > 0 ? [validatorsOf(path)] : []
    for (const operation of ours) {
      const { method, operationId, permissions } = operation
      const { handle, explainInvalid, worldAccess, isLong } = handlers[operationId] as Handler
      route[method](observe(routeOf(operation)))
      if (permissions !== undefined) route[method](authenticate(access, permissions), ...limit)
      route[method](readBody(options.bodyBytesMax))
      if (permissions !== undefined) route[method](authenticateAgain(access))
      route[method](deadline, parseBody)
      const withoutNulls = nullsAsAbsent(document, operation)
      if (withoutNulls !== undefined) route[method](withoutNulls)
      route[method](checkQuery(document, operation), ...validate)
      if (validate.length > 0)
        route[method](explainFaults(faultDescriber(document, operation), explainInvalid))
      if (needsBody(document, operation)) route[method](requireBody)
      const withoutLostIds = refuseLostIds(document, operation)
      if (withoutLostIds !== undefined) route[method](withoutLostIds)
      route[method](checkText)
      if (permissions !== undefined)
        route[method](enterWorld(options.worlds, worldAccess ?? (method === 'get' ? 'look' : 'enter')))
      route[method](isLong === undefined ? handle : inTurn[isLong](handle))
    }
    route.all(observe(OTHER_ROUTES), notAllowed(group))
  }
  app.use(observe(OTHER_ROUTES), ...(options.otherHandlers ?? []), () => {
    throw new HttpError(404, 'not found')
  })
  app.use(errorResponder(options.log))
  const ours = operations.filter(({ operationId }) => operationId in handlers)
  return admit(app, ours, { ...options, requests })
}

/** Counts requests that `admit` has not counted. */
function observerOf(requests: RequestMetrics): (route: string) => RequestHandler {
  return (route) => {
    const observe = requests(route)
    return (req, res, next) => {
      if (notedCaller(req) === undefined) observe(res)
      next()
    }
  }
}

/** The maximum number of long operations of one kind that run at once in a process. */
const LONG_AT_ONCE = 8
/**
 * The maximum number of long operations of one company, by kind. On few cores, more reads at once are not faster, and
 * they delay other companies.
 */
const LONG_AT_ONCE_OF_ONE = { batched: 4, alone: 2 }
const LONG_WAITING_MAX = 10_000
const LONG_WAITING_MAX_OF_ONE = 1_000

/** Makes companies take turns at long work. Long work uses the same batches of reads and event loop as short work. */
function longTurns(work: LongWork): (handle: RequestHandler) => RequestHandler {
  const semaphore = requestSemaphore('is read', {
    atOnce: LONG_AT_ONCE,
    atOnceOfOne: LONG_AT_ONCE_OF_ONE[work],
    waitingMax: LONG_WAITING_MAX,
    waitingMaxOfOne: LONG_WAITING_MAX_OF_ONE,
  })
  return (handle) => async (req, res, next) => {
    const { companyId } = callerOf(res)
    const release = await semaphore.acquire({ tenant: companyId, signal: goneSignal(res) })
    try {
      requireAnswersRead(companyId) // again: meanwhile the company may have left large answers unread
      await handle(req, res, next)
    } finally {
      release()
    }
  }
}

const commonHeaders: RequestHandler = (_req, res, next) => {
  setCommonHeaders(res)
  next()
}

/** Treats a HEAD like a GET of the same path. Node omits the body of the answer. */
const getForHead: RequestHandler = (req, _res, next) => {
  if (req.method === 'HEAD') req.method = 'GET'
  next()
}

function limitRequests({ requests, accountRequests }: RateLimits): RequestHandler {
  return async (_req, res, next) => {
    const { keyId, companyId, accountId } = callerOf(res)
    await (accountId === undefined
      ? limitRate(res, requests, keyId, 1)
      : limitRate(res, accountRequests, `${companyId} ${accountId}`, 1))
    next()
  }
}

/** Replaces the validator's messages by Tally's own messages. */
function explainFaults(
  describe: ReturnType<typeof faultDescriber>,
  explainBody: Handler['explainInvalid'],
): ErrorRequestHandler {
  return (err: unknown, req, _res, next) => {
    const [fault] = isInvalid(err) ? err.errors : []
    if (fault === undefined) {
      next(err)
      return
    }
    const { path, message, errorCode = '' } = fault
    const [keyword = ''] = errorCode.split('.')
    next(new HttpError(400, explainBody?.(req.body) ?? describe({ path, message, keyword }, req)))
  }
}

/** Needed because express-openapi-validator accepts a missing body when none of the body's fields is required. */
const requireBody: RequestHandler = (req, _res, next) => {
  if (req.body === undefined) throw new HttpError(400, 'body: is required')
  next()
}

/** The error of express-openapi-validator for a request that openapi.yaml does not allow. */
interface InvalidRequest extends Error {
  /** The code contains the keyword: `pattern.openapi.validation`. */
  errors: (Omit<SchemaFault, 'keyword'> & { errorCode?: string })[]
}

const isInvalid = (err: unknown): err is InvalidRequest =>
  err instanceof Error &&
  'status' in err &&
  err.status === 400 &&
  'errors' in err &&
  Array.isArray(err.errors)

/**
 * Answers methods without a handler. If the contract has the method at this path, it belongs to another service, and
 * the answer is 404. Otherwise the answer is 405.
 */
function notAllowed(operations: readonly Operation[]): RequestHandler {
  const methods = operations.map(({ method }) => method.toUpperCase())
  return ({ method }) => {
    if (methods.includes(method)) throw new HttpError(404, 'not found')
    throw new HttpError(405, `${method} is not allowed here`, { Allow: methods.join(', ') })
  }
}

function groupByPath(operations: readonly Operation[]): Map<string, Operation[]> {
  const groups = new Map<string, Operation[]>()
  for (const operation of operations)
    groups.set(operation.path, [...(groups.get(operation.path) ?? []), operation])
  return groups
}

const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')
