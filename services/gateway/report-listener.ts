import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Permission } from '../../shared/domain/api-key.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { countUnderWay } from '../../shared/http/admit.ts'
import { answerJson } from '../../shared/http/answer-text.ts'
import { findCallerOf, identifyAgain } from '../../shared/http/authentication.ts'
import { noteCaller, tenantOf } from '../../shared/http/callers.ts'
import { setCommonHeaders } from '../../shared/http/common-headers.ts'
import { enterUntilAnswered } from '../../shared/http/enter-world.ts'
import { answerError } from '../../shared/http/error-responder.ts'
import { limitRate } from '../../shared/http/limit-rate.ts'
import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { hasBody, type JsonBody, keepJson, parseJson, readBytes } from '../../shared/http/read-json-body.ts'
import { isAnsweredLate, startDeadline } from '../../shared/http/request-deadline.ts'
import type { RequestMetrics } from '../../shared/http/request-metrics.ts'
import { gatewayApp, type GatewayWork } from './app.ts'
import {
  cloudEventListener,
  type CloudEventOptions,
  isBinaryCloudEvent,
} from './cloud-events/cloud-event-listener.ts'
import { compileReportSchemas, type ReportSchemas, schemaCompiler } from './report-schemas.ts'
import type { ReportedEvent } from './reported-event.ts'
import { batchAnswer, eventAnswer, labelInBatch, labelOfOne } from './routes/report-events.ts'

/** A route for reporting usage. */
interface ReportRoute {
  name: string
  /** @returns undefined when openapi.yaml does not allow the body */
  eventsOf: (body: unknown) => readonly ReportedEvent[] | undefined
  label: (index: number) => string
  answerOf: (events: readonly UsageEvent[]) => object
  /** Adds a request that was answered here to the metrics, with its duration. */
  observe: (res: ServerResponse, startedAt: number) => void
}

/** The permission that openapi.yaml requires for reports. */
const PERMISSION: Permission = 'write:all'
const REQUEST_KEY_MAX = 255

/**
 * Takes reported usage on bare node:http when the request is an ordinary one. Every other request goes to the Express
 * app; if its body was read here, the app gets that body. So the app alone answers unusual and invalid requests.
 * Requests with CloudEvents have a listener of their own.
 *
 * Why not the app for all: Express and its validator take most of the CPU time of a report with one event
 * (docs/experiments.md). This listener and the app give the same answer to the same request;
 * test/services/gateway/report-listener.test.ts compares them.
 */
export function reportListener(work: GatewayWork, options: CloudEventOptions): RequestListener {
  const { report } = work
  const { worlds, limits, bodyBytesMax, requestTimeoutMs, log, admitWrite = () => undefined } = options
  const access = { findCaller: options.findCaller, limits }
  const document = readOpenApiDocument()
  const compile = schemaCompiler(document)
  const express = gatewayApp(work, options, document, compile)
  const others = cloudEventListener(express, work, options)
  const fail = answerError(log)
  const routes = reportRoutes(compileReportSchemas(compile), options.requests)

  async function serve(route: ReportRoute, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const startedAt = performance.now()
    try {
      admitWrite()
    } catch (err) {
      route.observe(res, startedAt)
      throw err
    }
    const found = findCallerOf(req, access.findCaller)
    const caller = found instanceof Promise ? await found : found
    if (caller?.permissions.includes(PERMISSION) !== true) {
      express(req, res)
      return
    }
    route.observe(res, startedAt)
    countUnderWay(caller.companyId, res)
    noteCaller(req, caller)
    const json = await readJson(req, res, startedAt)
    const events = route.eventsOf(json.body)
    if (events === undefined) {
      keepJson(req, json)
      express(req, res)
      return
    }
    await limitRate(res, limits.events, caller.keyId, events.length)
    const world = caller.mode === 'live' ? caller : await enterUntilAnswered(worlds, caller, res)
    const taken = await report({
      caller: world,
      aheadMs: 'aheadMs' in world ? world.aheadMs : 0,
      events,
      body: json.rawBody,
      route: route.name,
      requestKey: req.headers['idempotency-key'] as string | undefined,
      label: route.label,
    })
    if (isAnsweredLate(res)) return
    answerJson(res, 202, JSON.stringify(route.answerOf(taken)))
  }

  async function readJson(req: IncomingMessage, res: ServerResponse, startedAt: number): Promise<JsonBody> {
    const tenant = tenantOf(req)
    const rawBody = await readBytes(req, bodyBytesMax, tenant)
    await identifyAgain(req, access, startedAt)
    startDeadline(req, res, requestTimeoutMs)
    return { rawBody, body: await parseJson(rawBody, req, res, tenant) }
  }

  return (req, res) => {
    const route = req.method === 'POST' ? routes.get(req.url ?? '') : undefined
    if (route === undefined || !isOrdinary(req)) {
      others(req, res)
      return
    }
    setCommonHeaders(res)
    serve(route, req, res).catch((err: unknown) => {
      if (!fail(err, req, res)) res.destroy()
    })
  }
}

function reportRoutes(
  { isEvent, isBatch }: ReportSchemas,
  requests: RequestMetrics = () => () => undefined,
): ReadonlyMap<string, ReportRoute> {
  return new Map<string, ReportRoute>([
    [
      '/v2/events',
      {
        name: 'POST /v2/events',
        eventsOf: (body) => (isEvent(body) ? [body] : undefined),
        label: labelOfOne,
        answerOf: eventAnswer,
        observe: requests('POST /v2/events'),
      },
    ],
    [
      '/v2/events/batch',
      {
        name: 'POST /v2/events/batch',
        eventsOf: (body) => (isBatch(body) ? body.events : undefined),
        label: labelInBatch,
        answerOf: batchAnswer,
        observe: requests('POST /v2/events/batch'),
      },
    ],
  ])
}

const CONTENT_TYPES = new Set([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
])

/** False for requests with unusual headers. The Express app answers those. */
function isOrdinary(req: IncomingMessage): boolean {
  const { headers } = req
  const encoding = headers['content-encoding']
  const requestKey = headers['idempotency-key']
  return (
    CONTENT_TYPES.has(headers['content-type'] ?? '') &&
    (encoding === undefined || encoding === 'gzip') &&
    (requestKey === undefined || isRequestKey(requestKey)) &&
    !isBinaryCloudEvent(req) &&
    hasBody(req)
  )
}

const isRequestKey = (key: string | string[]): boolean =>
  typeof key === 'string' && key.length > 0 && key.length <= REQUEST_KEY_MAX
