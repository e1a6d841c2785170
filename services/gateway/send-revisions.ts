import type { EventRevision } from '../../shared/domain/correct-event.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import type { Clock } from '../../shared/time/microsecond-clock.ts'
import { recordsOf } from './records-of.ts'

export interface RevisionSender {
  /**
   * Appends the rows of corrections to the event log. When it resolves, they are durable there. To send one again
   * changes nothing, because its row is the same.
   *
   * @throws DomainError as EventLog.append does
   */
  send(revisions: readonly EventRevision[]): Promise<void>
  /** Marks them as sent; the relay then leaves them alone. */
  markSent(revisions: readonly EventRevision[]): Promise<void>
}

/**
 * Sends corrections through the event log.
 *
 * Why they have no acceptance of their own: a corrected row keeps the time at which its event was accepted. So it keeps
 * its place in the list of events, which need not wait for it.
 *
 * @param passing gives a time after all acceptances so far
 */
export function revisionSender(
  log: Pick<EventLog, 'append' | 'partitions'>,
  pool: Pool,
  passing: Clock,
): RevisionSender {
  return {
    async send(revisions) {
      const events = revisions.map(({ event }) => event)
      // The current time, not the events' acceptance: the list ends before the lowest time in the log that is not
      // loaded.
      await log.append(recordsOf(events, log.partitions, passing()))
    },
    async markSent(revisions) {
      const namespaces = new Set(revisions.map(({ event }) => event.namespaceId))
      for (const namespaceId of namespaces) {
        const theirs = revisions.filter(({ event }) => event.namespaceId === namespaceId)
        await inNamespace(pool, namespaceId, (db) =>
          eventRevisionRepository(db).markSent(namespaceId, theirs, passing()),
        )
      }
    },
  }
}
