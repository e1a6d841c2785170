import type { RequestHandler } from 'express'
import { callerOf } from '../../../shared/http/authentication.ts'
import { eventToBody } from '../../../shared/http/event-body.ts'
import type { ListEvents } from '../list-events.ts'
import { pageToBody } from './bodies.ts'
import { pageOfQuery } from './page-query.ts'

export function getEvents(list: ListEvents): RequestHandler {
  return async (req, res) => {
    const { account_id: accountId, metric_id: source } = req.query as {
      account_id?: string
      metric_id?: string
    }
    const page = await list(callerOf(res).namespaceId, { accountId, source }, pageOfQuery(req))
    res.json(pageToBody(page, eventToBody))
  }
}
