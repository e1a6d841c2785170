import type { Operation } from '../../../shared/http/operation.ts'
import { auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import { pageOf } from '../core/body-fields.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { auditEntryToBody } from './body.ts'

/** The operation that lists who did what in a company. */
export const trailOperations = ({ read }: NamespaceOperations): Operation[] => [
  read('listAuditTrail', pageOf(auditEntryToBody), ({ db, caller, query }) =>
    auditTrailRepository(db).list(
      caller.companyId,
      { resourceId: query.resource_id, keyId: query.api_key_id },
      pageIn(query),
    ),
  ),
]
