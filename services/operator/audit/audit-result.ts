import type { CurrentEvent } from '../../../shared/clickhouse/usage-events.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import type { LinePlace } from './read-log-lines.ts'

/** Something that does not add up. */
export interface Finding {
  kind:
    | 'lost' // in the log, neither counted nor in the dead letters
    | 'unlisted' // counted, but not in the list of events
    | 'altered' // counted with another content than the log has
    | 'superseded by nobody' // counted with a version that the log does not hold
    | 'not in the log' // counted, but nobody reported it
    | 'doubled' // counted more than once
    | 'misplaced' // counted at another time than its id says
    | 'accepted in the future'
  eventId: string | undefined
  place?: LinePlace
  detail: string
}

/** Each number is counted by itself; none is worked out from the others. */
export interface AuditResult {
  /** Unix seconds of acceptance, half-open. */
  from: number
  to: number
  /** Lines of the log. */
  logged: number
  /** Lines whose event counts with this very report or correction. */
  counted: number
  /** Lines whose event counts with another report or correction. */
  superseded: number
  /** Lines in the dead letters. */
  dead: number
  /** Lines of what a reset has taken away: their rows are deleted, now or later. */
  reset: number
  /** Lines that are nowhere. */
  lost: number
  /** Events in ClickHouse that were looked at. */
  stored: number
  findings: Finding[]
  /** Findings beyond those listed. */
  findingsMore: number
  /** Records of the log that were not loaded when the audit began, and the lowest acceptance among them. */
  unread: { records: number; oldestAt: Micros | undefined }
}

export const FINDINGS_MAX = 100

/** Notes a finding; beyond a hundred they are only counted. */
export function report(result: AuditResult, finding: Finding): void {
  if (result.findings.length < FINDINGS_MAX) result.findings.push(finding)
  else result.findingsMore++
}

/** The audit found nothing, and its numbers agree. */
export function isClean(result: AuditResult): boolean {
  return result.findings.length === 0 && addsUp(result)
}

export const addsUp = ({ logged, counted, superseded, dead, reset, lost }: AuditResult): boolean =>
  logged === counted + superseded + dead + reset + lost

export const describeRow = ({ accountId, source, quantity }: CurrentEvent): string =>
  `${quantity} of ${source} for ${accountId}`
