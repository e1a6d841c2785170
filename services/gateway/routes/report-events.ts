import type { Request, RequestHandler, Response } from 'express'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { eventToBody } from '../../../shared/http/event-body.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { limitRate } from '../../../shared/http/limit-rate.ts'
import { aheadMsOf } from '../../../shared/http/enter-world.ts'
import type { RawBody } from '../../../shared/http/read-json-body.ts'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import type { Report, ReportUsage } from '../report-usage.ts'
import type { ReportedEvent } from '../reported-event.ts'

/** POST /v2/events: one event, answered with the event. */
export function postEvent(report: ReportUsage, limit: RateLimit): RequestHandler {
  return async (req, res) => {
    await limitRate(res, limit, callerOf(res).keyId, 1)
    const events = [req.body as ReportedEvent]
    const taken = await report({ ...reportOf(req, res, 'POST /v2/events'), events, label: labelOfOne })
    res.status(202).json(eventAnswer(taken))
  }
}

/** POST /v2/events/batch: up to 1,000 events, all or none, answered with their ids. */
export function postEventBatch(report: ReportUsage, limit: RateLimit): RequestHandler {
  return async (req, res) => {
    const { events } = req.body as { events: ReportedEvent[] }
    await limitRate(res, limit, callerOf(res).keyId, events.length)
    const taken = await report({
      ...reportOf(req, res, 'POST /v2/events/batch'),
      events,
      label: labelInBatch,
    })
    res.status(202).json(batchAnswer(taken))
  }
}

export const labelOfOne = (): string => ''
export const labelInBatch = (index: number): string => `events[${index}].`

export function eventAnswer([event]: readonly UsageEvent[]): object {
  if (event === undefined) throw new Error('a request about one event came back empty')
  return eventToBody(event)
}

export const batchAnswer = (taken: readonly UsageEvent[]): object => ({
  accepted: taken.length,
  event_ids: batchIds(taken),
})

export const batchIds = (events: readonly UsageEvent[]): string[] => events.map(({ id }) => id)

function reportOf(req: Request, res: Response, route: string): Omit<Report, 'events' | 'label'> {
  const { rawBody } = req as Request & RawBody
  return {
    caller: callerOf(res),
    aheadMs: aheadMsOf(res),
    body: rawBody ?? Buffer.alloc(0),
    route,
    requestKey: idempotencyKeyOf(req),
  }
}
