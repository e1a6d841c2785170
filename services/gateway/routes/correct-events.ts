import { type AnyRequest, type Operation, operation } from '../../../shared/http/operation.ts'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import type { CorrectUsage } from '../correct-usage.ts'
import type { RequestedCorrection } from '../requested-correction.ts'
import { batchIds, eventAnswer } from './report-events.ts'

/**
 * The operations that correct usage. Two of them correct or void a single event and answer with the event after the
 * correction. The third corrects up to 1,000 events, all or none, and answers with their ids.
 */
export function correctionOperations(
  correct: CorrectUsage,
  limit: RateLimit,
  explainInvalid: NonNullable<Operation['explainInvalid']>,
): Operation[] {
  const correctOne = async (request: AnyRequest, correction: RequestedCorrection) => {
    const { caller, rawBody: body } = request
    await request.limit(limit, 1)
    return eventAnswer(await correct({ caller, body, corrections: [correction], label: undefined }))
  }
  return [
    operation('correctEvent', (request) =>
      correctOne(request, { ...request.body, event_id: request.params.event_id }),
    ),
    operation('voidEvent', (request) =>
      correctOne(request, { event_id: request.params.event_id, void: true }),
    ),
    operation(
      'correctEvents',
      async ({ caller, body: { corrections }, rawBody: body, limit: take }) => {
        await take(limit, corrections.length)
        const label = (index: number) => `corrections[${index}].`
        const corrected = await correct({ caller, body, corrections, label })
        return { corrected: corrected.length, event_ids: batchIds(corrected) }
      },
      { explainInvalid },
    ),
  ]
}
