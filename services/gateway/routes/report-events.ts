import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { eventToBody } from '../../../shared/http/event-body.ts'
import { type AnyRequest, type Operation, operation, type SchemaOf } from '../../../shared/http/operation.ts'
import type { RateLimit } from '../../../shared/rate-limit/rate-limit.ts'
import type { Report, ReportUsage } from '../report-usage.ts'

/**
 * The operations that report usage. One takes a single event and answers with this event. The other takes up to 1,000
 * events, all or none, and answers with their ids.
 */
export const reportOperations = (
  report: ReportUsage,
  limit: RateLimit,
  explainInvalid: NonNullable<Operation['explainInvalid']>,
): Operation[] => [
  operation('reportEvent', async (request) => {
    await request.limit(limit, 1)
    const of = reportOf(request, 'POST /v2/events')
    return eventAnswer(await report({ ...of, events: [request.body], label: labelOfOne }))
  }),
  operation(
    'reportEvents',
    async (request) => {
      const { events } = request.body
      await request.limit(limit, events.length)
      const of = reportOf(request, 'POST /v2/events/batch')
      return batchAnswer(await report({ ...of, events, label: labelInBatch }))
    },
    { explainInvalid },
  ),
]

export const labelOfOne = (): string => ''
export const labelInBatch = (index: number): string => `events[${index}].`

export function eventAnswer([event]: readonly UsageEvent[]): SchemaOf<'UsageEvent'> {
  if (event === undefined) throw new Error('the report of one event returned none')
  return eventToBody(event)
}

export const batchAnswer = (taken: readonly UsageEvent[]): SchemaOf<'UsageEventBatchTaken'> => ({
  accepted: taken.length,
  event_ids: batchIds(taken),
})

export const batchIds = (events: readonly UsageEvent[]): string[] => events.map(({ id }) => id)

const reportOf = (
  { caller, aheadMs, rawBody, idempotencyKey }: AnyRequest,
  route: string,
): Omit<Report, 'events' | 'label'> => ({
  caller,
  aheadMs,
  body: rawBody,
  route,
  requestKey: idempotencyKey,
})
