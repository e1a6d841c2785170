import type { RequestHandler } from 'express'
import type { EventRevision } from '../../../shared/domain/correct-event.ts'
import { callerOf } from '../../../shared/http/authentication.ts'
import { eventToBody } from '../../../shared/http/event-body.ts'
import type { ListEvents } from './list-events.ts'
import type { CurrentEventOf, EventRevisionsOf } from './one-event.ts'
import { pageToBody } from '../core/body-fields.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf, longHandlerOf } from '../core/handler-of.ts'

/** Usage events: the list, one, and what it was. */
export const eventHandlers = (
  list: ListEvents,
  current: CurrentEventOf,
  revisions: EventRevisionsOf,
): Handlers => ({
  listEvents: longHandlerOf('alone', getEvents(list)),
  getEvent: handlerOf(getEvent(current)),
  listEventRevisions: handlerOf(getEventRevisions(revisions)),
})

function getEvents(list: ListEvents): RequestHandler {
  return async (req, res) => {
    const { account_id: accountId, metric_id: source } = req.query as {
      account_id?: string
      metric_id?: string
    }
    const page = await list(callerOf(res).namespaceId, { accountId, source }, pageOfQuery(req))
    res.json(pageToBody(page, eventToBody))
  }
}

interface OfEvent {
  event_id: string
}

function getEvent(current: CurrentEventOf): RequestHandler<OfEvent> {
  return async (req, res) => {
    res.json(eventToBody(await current(callerOf(res).namespaceId, req.params.event_id)))
  }
}

function getEventRevisions(revisions: EventRevisionsOf): RequestHandler<OfEvent> {
  return async (req, res) => {
    const { limit, starting_after: after } = req.query as unknown as RevisionsQuery
    const page = await revisions(callerOf(res).namespaceId, req.params.event_id, { limit, after })
    res.json(pageToBody(page, revisionToBody))
  }
}

/** The validator has checked it, made numbers of numbers, and filled in the default limit. */
interface RevisionsQuery {
  limit: number
  starting_after?: number
}

const revisionToBody = ({ revision, keyId, event }: EventRevision): object => ({
  revision,
  api_key_id: keyId,
  event: eventToBody(event),
})
