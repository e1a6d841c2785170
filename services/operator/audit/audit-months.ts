import { monthText, type RecountDeps, recountUsage } from '../../../shared/usage/recount-usage.ts'
import type { AuditResult } from './audit-result.ts'

export interface AuditMonthsDeps extends Pick<RecountDeps, 'retired' | 'signal'> {
  counts: RecountDeps['counts']
  eventCounts: RecountDeps['events']
}

/**
 * Counts the events of all months again, and compares the new counts with the counts stored in PostgreSQL. This shows
 * whether ClickHouse has lost events, even those that the event log no longer has. It does not show which events.
 */
export async function auditMonths(
  { counts, eventCounts, retired, signal }: AuditMonthsDeps,
  result: AuditResult,
): Promise<void> {
  const cancel = () => {
    void eventCounts.cancel().catch(() => undefined) // if this fails, the time limit of the statement ends it
  }
  signal.addEventListener('abort', cancel)
  try {
    for await (const recounts of recountUsage({ counts, events: eventCounts, retired, signal }, 0)) {
      const counted = recounts.reduce((sum, recount) => sum + recount.counted, 0)
      const missing = recounts.reduce((sum, recount) => sum + recount.missing, 0)
      result.countedByMonth += counted
      const [first] = recounts
      if (missing > 0 && first !== undefined)
        result.missing.push({ month: monthText(first.month), missing, counted })
    }
  } catch (err) {
    signal.throwIfAborted()
    throw err
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
