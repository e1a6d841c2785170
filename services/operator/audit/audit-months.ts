import { monthText, type RecountDeps, recountUsage } from '../../../shared/usage/recount-usage.ts'
import type { AuditResult } from './audit-result.ts'

export interface AuditMonthsDeps extends Pick<RecountDeps, 'retired' | 'signal'> {
  counts: RecountDeps['counts']
  eventCounts: RecountDeps['events']
}

/**
 * Counts the events of all months again, and holds them against what was counted before: that shows what ClickHouse has
 * lost, also when the event log has dropped it. Which events those are nobody can tell.
 */
export async function auditMonths(
  { counts, eventCounts, retired, signal }: AuditMonthsDeps,
  result: AuditResult,
): Promise<void> {
  const cancel = () => {
    void eventCounts.cancel().catch(() => undefined) // the statement ends by its own limit then
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
