import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import type { LogLinePosition } from './read-log-lines.ts'

/** An error that the audit found. */
export interface Finding {
  kind:
    | 'lost' // in the log, but neither counted nor in the dead letters
    | 'unlisted' // counted, but not in the list of events
    | 'altered' // counted with another content than in the log
    | 'superseded by nobody' // counted with a version that is neither in the log nor a revision
    | 'not applied' // corrected, but the content from before the correction counts
    | 'not sent' // corrected, but the event log never got the correction
    | 'not in the log' // counted, but nobody reported it
    | 'doubled' // counted more than once
    | 'misplaced' // counted at another time than its id has
    | 'accepted in the future'
  eventId: string | undefined
  position?: LogLinePosition
  detail: string
}

/** Each number is counted by itself; none is calculated from the others. */
export interface AuditResult {
  /** Unix seconds of acceptance, half-open. */
  from: number
  to: number
  /** Lines of the log. */
  logged: number
  /** Lines whose event counts with this very report or correction. */
  counted: number
  /** Lines whose event counts with another report of the same content, or with a correction that came after them. */
  superseded: number
  /** Reports whose event counts with another report, of another content. */
  contradicted: number
  /** Lines in the dead letters. */
  dead: number
  /** Lines of namespaces that were reset: their rows are deleted, now or later. */
  reset: number
  /** Lines that are neither counted nor dead letters. */
  lost: number
  /** Events in ClickHouse that were checked. */
  stored: number
  corrections: {
    /** Micros of correction, half-open. */
    from: Micros
    to: Micros
    /** Corrections that were checked, each of them one of the following. */
    made: number
    /** Corrections that count. */
    applied: number
    /** Corrections that a later one replaced. */
    followed: number
    /** Corrections that are not loaded yet. */
    waiting: number
    /** Corrections that should count and do not. */
    unapplied: number
  }
  /** Some of the contradicted reports: how they differ from the first report of the event, which counts. */
  contradictions: { eventId: string; position: LogLinePosition; detail: string }[]
  /** Events in the stored counts of months, in the log or not. */
  countedByMonth: number
  /** Events of countedByMonth that ClickHouse has lost, by the month they occurred in: `2026-09`. */
  missing: { month: string; missing: number; counted: number }[]
  /** Groups of events with one idempotency key and different times; they count until somebody voids them. */
  sharedKeys: string[][]
  findings: Finding[]
  /** Findings beyond those listed. */
  findingsMore: number
  /** Records of the log that were not loaded when the audit began, and the lowest acceptance among them. */
  unread: { records: number; oldestAt: Micros | undefined }
}

export const FINDINGS_MAX = 100

/** Adds a finding. Findings after the first hundred are only counted. */
export function report(result: AuditResult, finding: Finding): void {
  if (result.findings.length < FINDINGS_MAX) result.findings.push(finding)
  else result.findingsMore++
}

/** Whether there already is a finding of this kind for an event. */
export const isNoted = ({ findings }: AuditResult, kind: Finding['kind'], eventId: string): boolean =>
  findings.some((finding) => finding.kind === kind && finding.eventId === eventId)

/** Whether the audit found nothing, and its numbers agree. */
export function isClean(result: AuditResult): boolean {
  return result.findings.length === 0 && result.missing.length === 0 && addsUp(result)
}

export const addsUp = ({
  logged,
  counted,
  superseded,
  contradicted,
  dead,
  reset,
  lost,
  corrections,
}: AuditResult): boolean =>
  logged === counted + superseded + contradicted + dead + reset + lost &&
  corrections.made ===
    corrections.applied + corrections.followed + corrections.waiting + corrections.unapplied

export const describeRow = ({ accountId, source, quantity }: CurrentEvent): string =>
  `${quantity} of ${source} for ${accountId}`
