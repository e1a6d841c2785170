import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'
import type { LogLinePosition } from './read-log-lines.ts'

/** Something that does not add up. */
export interface Finding {
  kind:
    | 'lost' // in the log, neither counted nor in the dead letters
    | 'unlisted' // counted, but not in the list of events
    | 'altered' // counted with another content than the log has
    | 'superseded by nobody' // counted with a version that neither the log nor a revision holds
    | 'not applied' // corrected, and counted as it was before
    | 'not sent' // corrected, and the event log never had it
    | 'not in the log' // counted, but nobody reported it
    | 'doubled' // counted more than once
    | 'misplaced' // counted at another time than its id says
    | 'accepted in the future'
  eventId: string | undefined
  position?: LogLinePosition
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
  /** Lines whose event counts with another report of the same content, or with a correction that came after them. */
  superseded: number
  /** Reports whose event counts with another report, of another content. */
  contradicted: number
  /** Lines in the dead letters. */
  dead: number
  /** Lines of what a reset has taken away: their rows are deleted, now or later. */
  reset: number
  /** Lines that are nowhere. */
  lost: number
  /** Events in ClickHouse that were looked at. */
  stored: number
  corrections: {
    /** Micros of correction, half-open. */
    from: Micros
    to: Micros
    /** Corrections that were looked at, each of them one of the following. */
    made: number
    /** Those that count. */
    applied: number
    /** Those after which another one counts. */
    followed: number
    /** Those that are not loaded yet. */
    waiting: number
    /** Those that should count and do not. */
    unapplied: number
  }
  /** Some of the contradicted: how they differ from the report that counts, which is the first. */
  contradictions: { eventId: string; position: LogLinePosition; detail: string }[]
  /** Events that were counted by their month before, whether the log still holds them or not. */
  countedByMonth: number
  /** Of those, the ones that ClickHouse has no more, by the month they occurred in: `2026-09`. */
  missing: { month: string; missing: number; counted: number }[]
  /** Events that one idempotency key was reported for, with several times; they count as long as nobody voids them. */
  sharedKeys: string[][]
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

/** Whether the like was noted of an event before. */
export const isNoted = ({ findings }: AuditResult, kind: Finding['kind'], eventId: string): boolean =>
  findings.some((finding) => finding.kind === kind && finding.eventId === eventId)

/** The audit found nothing, and its numbers agree. */
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
