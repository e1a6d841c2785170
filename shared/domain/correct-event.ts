import type { Micros } from '../time/microsecond-clock.ts'
import { contentOf, correctionVersion, isSameContent, type UsageEvent } from './usage-event.ts'

/** What a correction changes. */
export type EventCorrection =
  { void: true } | Partial<Pick<UsageEvent, 'quantity' | 'properties' | 'propertyPairs'>>

/** What an event was from some moment on; revision 0 is the report. */
export interface EventRevision {
  revision: number
  event: UsageEvent
  /** The API key that made the correction; null for the report. */
  keyId: string | null
  /** Whether the event log is known to have it. */
  isSent: boolean
}

/** Whether an event is no other after a change than before; what was voided cannot be changed into what it is. */
export function changesNothing(event: UsageEvent, correction: EventCorrection): boolean {
  if ('void' in correction) return event.voided
  return !event.voided && isSameContent({ ...event, ...correction }, event)
}

/**
 * An event after a correction: the whole of it.
 *
 * @param event as it counts now
 * @param now when the correction is made; when the event has this time or a later one already, a microsecond after that
 */
export function correctEvent(event: UsageEvent, correction: EventCorrection, now: Micros): UsageEvent {
  const correctedAt = Math.max(now, (event.correctedAt ?? event.acceptedAt) + 1)
  const corrected = { ...event, ...('void' in correction ? { voided: true } : correction), correctedAt }
  return { ...corrected, version: correctionVersion(correctedAt, contentOf(corrected)) }
}
