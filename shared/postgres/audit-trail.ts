import type { AuditedAction, AuditEntry, NewAuditEntry } from '../domain/audit-entry.ts'
import { newUuid } from '../domain/ids.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'

/** Which entries a list contains; undefined fields do not filter. */
export interface AuditFilter {
  resourceId?: string | undefined
  keyId?: string | undefined
}

interface AuditRow {
  entry_id: string
  company_id: string
  created_at: Date
  key_id: string | null
  action: AuditedAction
  resource_id: string
  changes: Record<string, unknown>
}

const COLUMNS = 'entry_id, company_id, created_at, key_id, action, resource_id, changes'
const INSERT = `
  INSERT INTO audit_trail (entry_id, company_id, key_id, action, resource_id, changes)
  VALUES ($1, $2, $3, $4, $5, $6)`
const EXISTS = 'SELECT FROM audit_trail WHERE company_id = $1 AND entry_id = $2'
// PostgreSQL plans this statement for each call, and leaves out conditions whose parameter is null. So each filter can
// use its index.
const LIST = `
  SELECT ${COLUMNS} FROM audit_trail WHERE company_id = $1
    AND ($3::text IS NULL OR resource_id = $3)
    AND ($4::uuid IS NULL OR key_id = $4)
    AND ($5::uuid IS NULL OR (created_at, entry_id) <
      (SELECT created_at, entry_id FROM audit_trail WHERE company_id = $1 AND entry_id = $5))
  ORDER BY created_at DESC, entry_id DESC LIMIT $2`

/** The audit trail. Within a transaction in a namespace of the company: see inNamespace. */
export const auditTrailRepository = (db: Queryable) => ({
  /** Adds an entry, in the transaction of the recorded change: both are committed, or neither. */
  async insert({ companyId, keyId, action, resourceId, changes }: NewAuditEntry): Promise<void> {
    const values = [newUuid(), companyId, keyId, action, resourceId, JSON.stringify(changes)]
    await db.query({ name: 'insert-audit-entry', text: INSERT, values })
  },

  /**
   * Lists entries, newest first.
   *
   * @throws DomainError malformed when startingAfter is no entry of the company
   */
  async list(
    companyId: string,
    { resourceId, keyId }: AuditFilter,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<AuditEntry>> {
    if (startingAfter !== undefined && (await db.query(EXISTS, [companyId, startingAfter])).rowCount === 0)
      throw unknownCursor()
    await readInIndexOrder(db)
    const filter = [resourceId ?? null, keyId ?? null]
    const { rows } = await db.query<AuditRow>(LIST, [companyId, limit + 1, ...filter, startingAfter ?? null])
    return pageOf(rows.map(entryFromRow), limit)
  },
})

const entryFromRow = (row: AuditRow): AuditEntry => ({
  id: row.entry_id,
  companyId: row.company_id,
  createdAt: row.created_at,
  keyId: row.key_id,
  action: row.action,
  resourceId: row.resource_id,
  changes: row.changes,
})
