import type { occurredEvents } from '../../../shared/clickhouse/events/occurred-events.ts'
import type { EventRevision } from '../../../shared/domain/correct-event.ts'
import { eventToBody } from '../../../shared/http/event-body.ts'
import { type Operation, operation, type SchemaOf } from '../../../shared/http/operation.ts'
import { pageToBody } from '../core/body-fields.ts'
import { pageIn } from '../core/page-query.ts'
import { acceptedFilterOf, occurredFilterOf } from './event-query.ts'
import type { ListEvents } from './list-events.ts'
import type { CurrentEventOf, EventRevisionsOf } from './one-event.ts'

/** The functions that find events. */
export interface EventReads {
  listAccepted: ListEvents
  listOccurred: ReturnType<typeof occurredEvents>['list']
  current: CurrentEventOf
  revisions: EventRevisionsOf
}

/** Operations that answer usage events: the list, a single event, and its revisions. */
export const eventOperations = ({
  listAccepted,
  listOccurred,
  current,
  revisions,
}: EventReads): Operation[] => [
  operation(
    'listEvents',
    async ({ caller: { namespaceId }, query, now, signal }) => {
      if (query.sort === 'accepted_at')
        return pageToBody(
          await listAccepted(namespaceId, acceptedFilterOf(query), pageIn(query)),
          eventToBody,
        )
      const page = { order: query.order, limit: query.limit, after: query.starting_after }
      const filter = occurredFilterOf(query, now)
      return pageToBody(await listOccurred(namespaceId, filter, page, signal()), eventToBody)
    },
    { isLong: 'alone' },
  ),
  operation('getEvent', async ({ caller, params }) =>
    eventToBody(await current(caller.namespaceId, params.event_id)),
  ),
  operation('listEventRevisions', async ({ caller, params, query: { limit, starting_after: after } }) =>
    pageToBody(await revisions(caller.namespaceId, params.event_id, { limit, after }), revisionToBody),
  ),
]

const revisionToBody = ({ revision, keyId, event }: EventRevision): SchemaOf<'EventRevision'> => ({
  revision,
  api_key_id: keyId,
  event: eventToBody(event),
})
