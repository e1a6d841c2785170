import type { EventRevision } from '../../shared/domain/correct-event.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import type { Clock } from '../../shared/time/microsecond-clock.ts'
import { recordsOf } from './records-of.ts'

export interface RevisionSender {
  /**
   * Appends the rows of corrections to the event log. When the promise resolves, the rows are durable there. Sending a
   * correction again changes nothing, because its row is the same.
   *
   * @throws DomainError for the reasons of EventLog.append
   */
  send(revisions: readonly EventRevision[]): Promise<void>
  /** Marks corrections as sent, so that the relay does not send them again. */
  markSent(revisions: readonly EventRevision[]): Promise<void>
}

/**
 * Sends corrections through the event log.
 *
 * Why corrections have no acceptance of their own: a corrected row keeps the time at which its event was accepted. So
 * the event keeps its position in the list of events, and the list need not wait for the correction.
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
      // The current time, not the events' times of acceptance, because the list of events ends before the lowest time
      // of all records that are not loaded yet.
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
