import type { RequestHandler } from 'express'
import { callerOf } from '../../../shared/http/authentication.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { pageToBody } from '../core/body-fields.ts'
import { auditEntryToBody } from './body.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Who did what in a company. */
export const trailHandlers = (pool: Pool): Handlers => ({
  listAuditTrail: handlerOf(listAuditTrail(pool)),
})

function listAuditTrail(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { companyId, namespaceId } = callerOf(res)
    const { resource_id: resourceId, api_key_id: keyId } = req.query as {
      resource_id?: string
      api_key_id?: string
    }
    const page = await inNamespace(pool, namespaceId, (db) =>
      auditTrailRepository(db).list(companyId, { resourceId, keyId }, pageOfQuery(req)),
    )
    res.json(pageToBody(page, auditEntryToBody))
  }
}
