import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import type { LogLinePosition } from './read-log-lines.ts'

/** An error that the audit found. */
export interface Finding {
  kind:
    | 'lost' // in the log, but neither counted nor in the dead letters
    | 'unlisted' // counted, but not in the list of events
    | 'altered' // counted with a content that differs from the log
    | 'superseded by nobody' // the version that counts is neither in the log nor in a revision
    | 'not applied' // corrected, but the content from before the correction counts
    | 'not sent' // corrected, but the event log never got the correction
    | 'not in the log' // counted, but nobody reported it
    | 'doubled' // counted more than once
    | 'misplaced' // counted at another time than the time in its id
    | 'accepted in the future'
    | 'correction unknown' // stored, but PostgreSQL has no such correction
    | 'account unknown' // has stored usage, but PostgreSQL has no such account
  eventId: string | undefined
  accountId?: string
  position?: LogLinePosition
  detail: string
}

/** Each number is counted separately. None is calculated from the others. */
export interface AuditResult {
  /** The audited range of acceptance, in Unix seconds, half-open. */
  from: number
  to: number
  /** Lines of the log in that range. */
  logged: number
  /** Lines that count: their own report or correction is the row of their event. */
  counted: number
  /** Lines that do not count, because another report of the same content or a later correction counts. */
  superseded: number
  /** Reports that do not count, and whose content differs from the event's first report. */
  contradicted: number
  /** Lines in the dead letters. */
  dead: number
  /** Lines of namespaces that were reset. Tally deletes their rows in the background. */
  reset: number
  /** Lines that are neither counted nor dead letters. */
  lost: number
  /** Events in ClickHouse that were checked. */
  stored: number
  corrections: {
    /** The audited range of correction times, in microseconds, half-open. */
    from: Micros
    to: Micros
    /** Corrections that were checked. Each is counted in one of the numbers below. */
    made: number
    /** Corrections that count. */
    applied: number
    /** Corrections that a later correction replaced. */
    followed: number
    /** Corrections that are not sent or not loaded yet. */
    waiting: number
    /** Corrections that should count but do not. */
    unapplied: number
  }
  /**
   * Some of the contradicted reports, one for each event. `detail` says how they differ from the event's first report.
   */
  contradictions: { eventId: string; position: LogLinePosition; detail: string }[]
  /** Events of all months according to the stored counts. The log may no longer have them. */
  countedByMonth: number
  /** Events in countedByMonth that ClickHouse has lost, by the month in which they occurred: `2026-09`. */
  missing: { month: string; missing: number; counted: number }[]
  /**
   * Groups of events that share an idempotency key but have different times. All of them count until they are voided.
   */
  sharedKeys: string[][]
  findings: Finding[]
  /** The number of findings that are not in the list. */
  findingsMore: number
  /** Records of the log that were not loaded when the audit began, and the lowest time of acceptance in them. */
  unread: { records: number; oldestAt: Micros | undefined }
}

export const FINDINGS_MAX = 100

/** Adds a finding. Findings after the first FINDINGS_MAX are only counted. */
export function report(result: AuditResult, finding: Finding): void {
  if (result.findings.length < FINDINGS_MAX) result.findings.push(finding)
  else result.findingsMore++
}

/** Whether there already is a finding of this kind for an event. */
export const isNoted = ({ findings }: AuditResult, kind: Finding['kind'], eventId: string): boolean =>
  findings.some((finding) => finding.kind === kind && finding.eventId === eventId)

/** Whether the audit has no findings and its numbers add up. */
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
