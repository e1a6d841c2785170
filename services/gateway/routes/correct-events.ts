import type { Request, RequestHandler, Response } from 'express'
import { callerOf } from '../../../shared/http/authentication.ts'
import { limitRate } from '../../../shared/http/limit-rate.ts'
import type { RawBody } from '../../../shared/http/read-json-body.ts'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import type { CorrectionRequest, CorrectUsage } from '../correct-usage.ts'
import type { RequestedCorrection } from '../requested-correction.ts'
import { batchIds, eventAnswer } from './report-events.ts'

interface OfEvent {
  event_id: string
}

/** PATCH /v2/events/{event_id}: answered with the event as it counts from now on. */
export const patchEvent = (correct: CorrectUsage, limit: RateLimit): RequestHandler =>
  correctOne(correct, limit, (req) => ({ ...(req.body as object), event_id: eventIdOf(req) }))

/** POST /v2/events/{event_id}/void: answered with the event, which counts no more. */
export const voidEvent = (correct: CorrectUsage, limit: RateLimit): RequestHandler =>
  correctOne(correct, limit, (req) => ({ event_id: eventIdOf(req), void: true }))

/** POST /v2/events/corrections: up to 1,000 events, all or none, answered with their ids. */
export function postCorrections(correct: CorrectUsage, limit: RateLimit): RequestHandler {
  return async (req, res) => {
    const { corrections } = req.body as { corrections: RequestedCorrection[] }
    await limitRate(res, limit, callerOf(res).keyId, corrections.length)
    const label = (index: number) => `corrections[${index}].`
    const corrected = await correct({ ...requestOf(req, res), corrections, label })
    res.status(202).json({ corrected: corrected.length, event_ids: batchIds(corrected) })
  }
}

function correctOne(
  correct: CorrectUsage,
  limit: RateLimit,
  correctionOf: (req: Request) => RequestedCorrection,
): RequestHandler {
  return async (req, res) => {
    await limitRate(res, limit, callerOf(res).keyId, 1)
    const corrections = [correctionOf(req)]
    const corrected = await correct({ ...requestOf(req, res), corrections, label: undefined })
    res.status(202).json(eventAnswer(corrected))
  }
}

const eventIdOf = ({ params }: Request): string => (params as unknown as OfEvent).event_id

function requestOf(req: Request, res: Response): Pick<CorrectionRequest, 'caller' | 'body'> {
  const { rawBody } = req as Request & RawBody
  return { caller: callerOf(res), body: rawBody ?? Buffer.alloc(0) }
}
