import { setImmediate as letOthersWork } from 'node:timers/promises'
import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import type { everyRevisionRepository } from '../../../shared/postgres/event-revisions.ts'
import { type AuditResult, FINDINGS_MAX } from './audit-result.ts'
import { describeDifference, isSame, REPORTED } from './compare-events.ts'
import { keyOf } from './look-up-rows.ts'
import type { LogLinePosition } from './read-log-lines.ts'

/** A line that does not count, because another report or a later correction of its event counts. */
export interface SupersededLogLine {
  position: LogLinePosition
  event: UsageEvent
  /** The row that counts. */
  row: CurrentEvent
}

/** How many lines are compared before the event loop gets to other work. */
const LINES_A_TURN = 250

/**
 * Separates reports that were sent again from reports of the same event with another content. If contents differ, the
 * first report counts, and only the reporter knows which of them is right. If the event was corrected later, its first
 * report is revision 0.
 */
export async function tellRepeats(
  lines: readonly SupersededLogLine[],
  revisions: Pick<ReturnType<typeof everyRevisionRepository>, 'listFirst'>,
  result: AuditResult,
): Promise<void> {
  const corrected = lines.filter(({ event, row }) => event.correctedAt === null && row.correctedAt !== null)
  const kept = corrected.length === 0 ? [] : await revisions.listFirst(corrected.map(({ event }) => event))
  const reports = new Map(kept.map(({ event }) => [keyOf(event), event]))
  for (const [n, { position, event, row }] of lines.entries()) {
    if (n % LINES_A_TURN === 0) await letOthersWork()
    const first = row.correctedAt === null ? row : reports.get(keyOf(event))
    // A correction never contradicts a report, because from then on the event has the content of the correction.
    if (event.correctedAt !== null || first === undefined || isSame(first, event, REPORTED))
      result.superseded++
    else {
      result.contradicted++
      noteContradiction(result, event.id, position, describeDifference(first, event, 'this report', REPORTED))
    }
  }
}

/** Adds one contradiction for each event. Contradictions after the first FINDINGS_MAX are only counted. */
function noteContradiction(
  { contradictions }: AuditResult,
  eventId: string,
  position: LogLinePosition,
  detail: string,
): void {
  if (contradictions.length < FINDINGS_MAX && !contradictions.some((noted) => noted.eventId === eventId))
    contradictions.push({ eventId, position, detail })
}
