import type { EventRevision } from '../../shared/domain/correct-event.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import type { Clock } from '../../shared/time/microsecond-clock.ts'
import { recordsOf } from './records-of.ts'

export interface RevisionSender {
  /**
   * Appends the rows of corrections to the event log; when it resolves, they are durable there. Sending one again
   * changes nothing: its row is the same.
   *
   * @throws DomainError as EventLog.append does
   */
  send(revisions: readonly EventRevision[]): Promise<void>
  /** Notes that the log has them; the relay leaves them alone from then on. */
  markSent(revisions: readonly EventRevision[]): Promise<void>
}

/**
 * Sends corrections through the event log.
 *
 * Why without an acceptance of their own: a corrected row keeps the time its event was accepted at, and so its place in
 * the list of events, which waits for nothing then.
 *
 * @param passing the times of acceptance go on from what it shows
 */
export function revisionSender(
  log: Pick<EventLog, 'append' | 'partitions'>,
  pool: Pool,
  passing: Clock,
): RevisionSender {
  return {
    async send(revisions) {
      const events = revisions.map(({ event }) => event)
      // Now, not when the events were accepted: the list ends before the lowest time in the log that is not loaded.
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
