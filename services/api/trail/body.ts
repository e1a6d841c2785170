import type { AuditEntry } from '../../../shared/domain/audit-entry.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { secondsOf } from '../core/body-fields.ts'

export const auditEntryToBody = (entry: AuditEntry): SchemaOf<'AuditEntry'> => ({
  id: entry.id,
  created_at: secondsOf(entry.createdAt),
  api_key_id: entry.keyId,
  action: entry.action,
  resource_id: entry.resourceId,
  changes: entry.changes,
})
