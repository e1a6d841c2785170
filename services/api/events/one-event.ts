import type { EventRevision } from '../../../shared/domain/correct-event.ts'
import { type Page, pageOf } from '../../../shared/domain/page.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../../shared/postgres/event-revisions.ts'
import type { FindStoredEvents } from '../../../shared/usage/stored-events.ts'

export type CurrentEventOf = (namespaceId: string, id: string) => Promise<UsageEvent>

export type EventRevisionsOf = (
  namespaceId: string,
  id: string,
  page: { limit: number; after: number | undefined },
) => Promise<Page<EventRevision>>

/**
 * Finds an event in its newest state: its newest revision, or the event in ClickHouse if it has no revision. So a
 * correction is visible at once, even before it is counted.
 *
 * @throws DomainError not_found when nobody reported the event, overloaded when it may still be in the event log
 */
export function currentEvent(pool: Pool, findStored: FindStoredEvents): CurrentEventOf {
  return async (namespaceId, id) => {
    const newest = await inNamespace(pool, namespaceId, (db) =>
      eventRevisionRepository(db).listNewest(namespaceId, [id]),
    )
    return newest.get(id)?.event ?? getStored(findStored, namespaceId, id)
  }
}

/**
 * Lists the revisions of an event, its report first. An event that was never corrected has only its report.
 *
 * @throws DomainError not_found when nobody reported the event, overloaded when it may still be in the event log,
 *   malformed when the event has no revision `after`
 */
export function eventRevisions(pool: Pool, findStored: FindStoredEvents): EventRevisionsOf {
  return async (namespaceId, id, { limit, after }) => {
    const { first, newest, rows } = await inNamespace(pool, namespaceId, async (db) => {
      const revisions = eventRevisionRepository(db)
      const found = (await revisions.listNewest(namespaceId, [id])).get(id)
      // Also reads revision `after`, to check that it exists.
      const from = after ?? 0
      return { newest: found, first: from, rows: await revisions.list(namespaceId, id, from - 1, limit + 2) }
    })
    const all =
      newest === undefined ? [reportOf(await getStored(findStored, namespaceId, id))].slice(first) : rows
    if (after === undefined) return pageOf(all.slice(0, limit + 1), limit)
    if (all.length === 0)
      throw new DomainError('malformed', 'starting_after: this event has no such revision')
    return pageOf(all.slice(1, limit + 2), limit)
  }
}

const reportOf = (event: UsageEvent): EventRevision => ({ revision: 0, event, keyId: null, isSent: true })

async function getStored(findStored: FindStoredEvents, namespaceId: string, id: string): Promise<UsageEvent> {
  const event = (await findStored(namespaceId, [id])).get(id)
  if (event === undefined) throw new DomainError('not_found', 'no such event')
  return event
}
