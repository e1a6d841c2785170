import type { Micros } from '../time/microsecond-clock.ts'
import { contentOf, correctionVersion, isSameContent, type UsageEvent } from './usage-event.ts'

/** The content of a correction: voids the event, or replaces fields of the event. */
export type EventCorrection =
  { void: true } | Partial<Pick<UsageEvent, 'quantity' | 'properties' | 'propertyPairs'>>

/** An event after its report or after a correction. Revision 0 is the report. */
export interface EventRevision {
  revision: number
  event: UsageEvent
  /** The API key that made the correction; null for the report. */
  keyId: string | null
  /** Whether the revision is known to be in the event log. */
  isSent: boolean
}

/** Whether a correction would change nothing. New content for a voided event always changes it. */
export function changesNothing(event: UsageEvent, correction: EventCorrection): boolean {
  if ('void' in correction) return event.voided
  return !event.voided && isSameContent({ ...event, ...correction }, event)
}

/**
 * The whole event after a correction.
 *
 * @param event the event before the correction
 * @param now the time of the correction. If the event was accepted or corrected at this time or later, the correction
 *   gets the microsecond after that acceptance or correction
 */
export function correctEvent(event: UsageEvent, correction: EventCorrection, now: Micros): UsageEvent {
  const correctedAt = Math.max(now, (event.correctedAt ?? event.acceptedAt) + 1)
  const corrected = { ...event, ...('void' in correction ? { voided: true } : correction), correctedAt }
  return { ...corrected, version: correctionVersion(correctedAt, contentOf(corrected)) }
}
