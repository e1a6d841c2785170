import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { countUnderWay } from '../../../shared/http/admit.ts'
import { answerJson } from '../../../shared/http/answer-text.ts'
import { identify, identifyAgain, requirePermission } from '../../../shared/http/authentication.ts'
import { noteCaller, tenantOf } from '../../../shared/http/callers.ts'
import { setCommonHeaders } from '../../../shared/http/common-headers.ts'
import { enterUntilAnswered } from '../../../shared/http/enter-world.ts'
import { answerError } from '../../../shared/http/error-responder.ts'
import { HttpError } from '../../../shared/http/http-error.ts'
import { limitRate } from '../../../shared/http/limit-rate.ts'
import { type JsonBody, mediaTypeOf, parseJson, readBytes } from '../../../shared/http/read-json-body.ts'
import { isAnsweredLate, startDeadline } from '../../../shared/http/request-deadline.ts'
import type { RequestMetrics } from '../../../shared/http/request-metrics.ts'
import type { GatewayAppOptions, GatewayWork } from '../app.ts'
import { batchAnswer } from '../routes/report-events.ts'
import type { FindNamed } from './named-references.ts'
import { checkCloudEvents, usageOfCloudEvents } from './usage-of-cloud-events.ts'

/** The media types of structured CloudEvents in JSON: one event, and a list. */
const ONE = 'application/cloudevents+json'
const LIST = 'application/cloudevents-batch+json'
/**
 * The type of the answer to CloudEvents on a route whose other reports get another answer, so that openapi.yaml can
 * describe both.
 */
const ACCEPTED = 'application/vnd.tally.accepted+json; charset=utf-8'
/** The header that every CloudEvent in binary mode has. */
const BINARY = 'ce-specversion'
const REQUEST_KEY_MAX = 255

/** A route that takes CloudEvents. */
interface CloudEventRoute {
  name: string
  /** The media types that it takes, and whether each means one event or a list; undefined if the body decides. */
  types: ReadonlyMap<string, 'one' | 'list' | undefined>
  answer: (res: ServerResponse, taken: readonly UsageEvent[]) => void
  observe: ReturnType<RequestMetrics>
}

export interface CloudEventOptions extends GatewayAppOptions {
  findNamed: FindNamed
}

/** The path of OpenMeter's own API. Its SDKs can report to Tally with another base URL. */
const OPENMETER_PATH = '/openmeter/api/v1/events'

/**
 * Takes CloudEvents in structured mode, and passes every other request on. They become usage events for the same
 * reportUsage as other reports. OpenMeter's SDKs and collector report CloudEvents, too, so their path is served here.
 *
 * @param others answers all other requests
 */
export function cloudEventListener(
  others: RequestListener,
  { report }: Pick<GatewayWork, 'report'>,
  options: CloudEventOptions,
): RequestListener {
  const { worlds, limits, bodyBytesMax, requestTimeoutMs, findNamed } = options
  const access = { findCaller: options.findCaller, limits }
  const { admitWrite = () => undefined } = options
  const fail = answerError(options.log)
  const routes = cloudEventRoutes(options.requests)

  async function serve(route: CloudEventRoute, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const startedAt = performance.now()
    route.observe(res, startedAt)
    admitWrite()
    const caller = await identify(req, access)
    requirePermission(caller, ['write:all'])
    countUnderWay(caller.companyId, res)
    noteCaller(req, caller)
    const requestKey = requestKeyOf(req)
    const { rawBody, body } = await readJson(route, req, res, startedAt)
    requireForm(route, req, body)
    const list = checkCloudEvents(body)
    // An empty list counts as an event, so that requests are limited, too.
    await limitRate(res, limits.events, caller.keyId, Math.max(1, list.events.length))
    const world = caller.mode === 'live' ? caller : await enterUntilAnswered(worlds, caller, res)
    const usage = await usageOfCloudEvents(list, world.namespaceId, findNamed, rawBody)
    const more = usage.events.length - list.events.length
    if (more > 0) await limitRate(res, limits.events, caller.keyId, more)
    const taken =
      usage.events.length === 0
        ? []
        : await report({
            caller: world,
            aheadMs: 'aheadMs' in world ? world.aheadMs : 0,
            ...usage,
            body: rawBody,
            route: route.name,
            requestKey,
          })
    if (!isAnsweredLate(res)) route.answer(res, taken)
  }

  async function readJson(
    route: CloudEventRoute,
    req: IncomingMessage,
    res: ServerResponse,
    startedAt: number,
  ): Promise<JsonBody> {
    const tenant = tenantOf(req)
    const rawBody = await readBytes(req, bodyBytesMax, tenant, [...route.types.keys()])
    await identifyAgain(req, access, startedAt)
    startDeadline(req, res, requestTimeoutMs)
    return { rawBody, body: await parseJson(rawBody, req, res, tenant) }
  }

  return (req, res) => {
    const route = req.method === 'POST' ? routes.get(req.url ?? '') : undefined
    if (route === undefined || !isForCloudEvents(route, req)) {
      others(req, res)
      return
    }
    setCommonHeaders(res)
    serve(route, req, res).catch((err: unknown) => {
      if (!fail(err, req, res)) res.destroy()
    })
  }
}

/** Whether a report is a CloudEvent in binary mode, whose attributes are headers. */
export const isBinaryCloudEvent = ({ headers }: IncomingMessage): boolean => BINARY in headers

const isForCloudEvents = (route: CloudEventRoute, req: IncomingMessage): boolean =>
  route.name.endsWith(OPENMETER_PATH) ||
  mediaTypeOf(req).startsWith('application/cloudevents') ||
  isBinaryCloudEvent(req)

function cloudEventRoutes(requests: RequestMetrics = () => () => undefined): Map<string, CloudEventRoute> {
  const routeOf = (path: string, rest: Pick<CloudEventRoute, 'types' | 'answer'>) => {
    const name = `POST ${path}`
    return [path, { name, ...rest, observe: requests(name) }] as const
  }
  return new Map([
    routeOf('/v2/events', {
      types: new Map([
        [ONE, 'one'],
        [LIST, 'list'],
      ]),
      answer: (res, taken) => {
        answerJson(res, 202, JSON.stringify(batchAnswer(taken)), ACCEPTED)
      },
    }),
    routeOf('/v2/events/batch', {
      types: new Map([[LIST, 'list']]),
      answer: (res, taken) => {
        answerJson(res, 202, JSON.stringify(batchAnswer(taken)))
      },
    }),
    routeOf(OPENMETER_PATH, {
      types: new Map([
        [ONE, 'one'],
        [LIST, 'list'],
        ['application/json', undefined],
      ]),
      answer: (res) => {
        res.statusCode = 204
        res.end()
      },
    }),
  ])
}

/** @throws HttpError 400 when the body is a list, but its type means one event, or the other way round */
function requireForm({ types }: CloudEventRoute, req: IncomingMessage, body: unknown): void {
  const form = types.get(mediaTypeOf(req))
  if (form === 'list' && !Array.isArray(body))
    throw new HttpError(400, `body: must be a list of CloudEvents, as ${LIST} means`)
  if (form === 'one' && Array.isArray(body))
    throw new HttpError(400, `body: must be one CloudEvent, as ${ONE} means; a list is ${LIST}`)
}

/** @throws HttpError 400 */
function requestKeyOf(req: IncomingMessage): string | undefined {
  const key = req.headers['idempotency-key'] as string | undefined
  if (key !== undefined && (key === '' || key.length > REQUEST_KEY_MAX))
    throw new HttpError(400, `idempotency-key: must have 1 to ${REQUEST_KEY_MAX} characters`)
  return key
}
