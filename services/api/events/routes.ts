import type { EventRevision } from '../../../shared/domain/correct-event.ts'
import { eventToBody } from '../../../shared/http/event-body.ts'
import { type Operation, operation, type SchemaOf } from '../../../shared/http/operation.ts'
import { pageToBody } from '../core/body-fields.ts'
import { pageIn } from '../core/page-query.ts'
import type { ListEvents } from './list-events.ts'
import type { CurrentEventOf, EventRevisionsOf } from './one-event.ts'

/** Operations that answer usage events: the list, a single event, and its revisions. */
export const eventOperations = (
  list: ListEvents,
  current: CurrentEventOf,
  revisions: EventRevisionsOf,
): Operation[] => [
  operation(
    'listEvents',
    async ({ caller, query }) => {
      const filter = { accountId: query.account_id, source: query.metric_id }
      return pageToBody(await list(caller.namespaceId, filter, pageIn(query)), eventToBody)
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
