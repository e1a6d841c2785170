import { setImmediate as letOthersWork } from 'node:timers/promises'
import { entryFromBinary } from '../../../shared/clickhouse/events/usage-event-list.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { type EventLog, LOADER_GROUP } from '../../../shared/event-log/event-log.ts'
import {
  type Clock,
  type Micros,
  MICROS_PER_SECOND,
  unixSeconds,
} from '../../../shared/time/microsecond-clock.ts'
import { digestOfLogLine } from '../../../shared/usage-lines/log-line-digest.ts'
import { auditCorrections, type AuditCorrectionsDeps } from './audit-corrections.ts'
import { auditLines, type AuditLinesDeps } from './audit-lines.ts'
import { auditMonths, type AuditMonthsDeps } from './audit-months.ts'
import { auditOwners, type AuditOwnersDeps } from './audit-owners.ts'
import { type AuditResult, FINDINGS_MAX, report } from './audit-result.ts'
import { auditRows, reportUnconfirmed } from './audit-rows.ts'
import { Confirmations } from './confirmations.ts'
import { findSharedKeys } from './find-shared-keys.ts'
import { LogLineTable } from './log-line-table.ts'
import { matchLines, type MatchLinesDeps } from './match-lines.ts'
import { type LogLine, parseRawLogLine, type RawLogLine, readAgain, readLogLines } from './read-log-lines.ts'

export interface AuditDeps
  extends AuditLinesDeps, AuditCorrectionsDeps, AuditMonthsDeps, AuditOwnersDeps, MatchLinesDeps {
  log: EventLog
  /** No event accepted before this time can still be stored. */
  listedUpTo: () => Promise<Micros>
  clock: Clock
  /** Called now and then with the progress of the audit. */
  onProgress: (progress: { readTo: number; lines: number }) => void
  signal: AbortSignal
}

/** How many lines are read at once, or looked up in full at once. */
const LINES_AT_ONCE = 3_000
/** How far another machine's clock may be ahead of this one's. */
const CLOCK_AHEAD_MAX_S = 300
const LAST_SECOND = 2 ** 32 - 1

/**
 * Checks that, in a range of acceptance times, no accepted event was lost, counted twice or altered. It also checks
 * that somebody reported every event that counts. The audit reads the log again, line by line, and looks up every event
 * in ClickHouse and the dead letters. Memory does not grow with the number of events, because lines are compared in
 * rounds and dropped afterwards.
 *
 * matchLines compares reports by their identity and a digest of their content. auditLines reads only two kinds of lines
 * in full: reports that differ, and lines that are not plain reports. tellRepeats then separates the reports that
 * differ: some were only sent again, others have another content under the same id.
 *
 * PostgreSQL keeps the number of events of each month forever. auditMonths checks that no counted event is missing.
 *
 * PostgreSQL also keeps corrections forever. auditCorrections looks for each correction made in the range, even where
 * the log has dropped its lines. auditOwners looks the other way: PostgreSQL must have what ClickHouse has.
 *
 * @param wanted Unix seconds. Only the part of this range is audited for which the log is complete and certainly loaded
 * @param lagMaxS how many seconds a correction may take to reach the log
 * @param linesARound how many lines are looked up in a round. More lines take more memory, but the events of a busy
 *   slot are read in fewer rounds
 */
export async function auditUsage(
  deps: AuditDeps,
  wanted: { from: number; to: number },
  lagMaxS: number,
  linesARound: number,
): Promise<AuditResult> {
  const { log, signal } = deps
  const { ends, loadedTo, unread } = await readState(deps)
  signal.throwIfAborted()
  const since = await log.keptSince()
  const from = Math.max(wanted.from, since === 0 ? 0 : unixSeconds(since) + CLOCK_AHEAD_MAX_S)
  const to = Math.max(from, Math.min(wanted.to, unixSeconds(loadedTo)))
  const corrections = {
    from: wanted.from * MICROS_PER_SECOND,
    to: Math.min(wanted.to * MICROS_PER_SECOND, deps.clock()),
  }
  const result = emptyResult(from, to, unread, corrections)
  const confirmations = new Confirmations(from)
  const table = new LogLineTable(linesARound)
  let comparedTo = from
  let matched = 0
  /**
   * Looks up lines in full, in batches.
   * @param receiver gets a verdict on the event of each line
   */
  const lookUpBy = (receiver: Parameters<typeof auditLines>[2]) => {
    let some: LogLine[] = []
    const end = async () => {
      await auditLines(some, deps, receiver, result)
      some = []
    }
    const lookAt = async (line: RawLogLine) => {
      const parsed = parseRawLogLine(line)
      if (isWanted(parsed.acceptedAt) && some.push(parsed) === LINES_AT_ONCE) await end()
    }
    return { lookAt, end }
  }
  const odd = lookUpBy(confirmations)
  const differing = lookUpBy(KNOWN_TO_THE_TABLE)
  const isWanted = (at: Micros) => unixSeconds(at) >= from && unixSeconds(at) < to
  /** Matches the lines of a round. Then it compares the rows of ClickHouse that were accepted before `second`. */
  const finishRound = async (second: number) => {
    const unmatched = await matchLines(table, matched, deps, confirmations, result)
    for await (const line of readAgain(log, unmatched.odd)) await odd.lookAt(line)
    await odd.end()
    for await (const line of readAgain(log, unmatched.differing)) await differing.lookAt(line)
    await differing.end()
    if (second > comparedTo) {
      await auditRows({ from: comparedTo, to: second }, deps, table, confirmations, result)
      comparedTo = second
    }
    matched = table.size
    if (matched > table.capacity / 2) throw tooManyApart(matched)
  }
  const starts = await log.positionsAt(Math.max(0, from - CLOCK_AHEAD_MAX_S) * MICROS_PER_SECOND)
  for await (const { lines, readTo } of readLogLines(log, starts, ends, LINES_AT_ONCE)) {
    signal.throwIfAborted()
    for (const line of lines) {
      const digest = digestOfLogLine(line.bytes)
      // A line accepted before comparedTo is late: its row was compared without it. Such lines are few. They are looked
      // up in full, because one of them may confirm a row that is still unconfirmed.
      if (digest === undefined || unixSeconds(digest.acceptedAt) < comparedTo) await odd.lookAt(line)
      else if (isWanted(digest.acceptedAt)) table.add(digest, line)
    }
    await letOthersWork()
    if (table.size + LINES_AT_ONCE > table.capacity) await finishRound(Math.min(readTo, to))
    deps.onProgress({ readTo: Math.min(readTo, to), lines: result.logged + table.size - matched })
  }
  await finishRound(to)
  await reportUnconfirmed(confirmations, deps, result)
  await auditCorrections(corrections, deps, lagMaxS, result)
  await auditOwners(corrections, deps, result)
  await auditMonths(deps, result)
  await findElsewhere(deps, result)
  await findSharedKeys(deps, result)
  return result
}

/** The receiver for differing lines. It ignores their verdicts, because the table already has them. */
const KNOWN_TO_THE_TABLE = { confirm: () => undefined, note: () => undefined }

const tooManyApart = (lines: number) =>
  new DomainError(
    'unprocessable',
    `${lines} lines were accepted later than all lines read so far from other partitions: the clocks of the gateways are far apart`,
  )

/** Reads how far the log is loaded, and where it ends. */
async function readState({ log, listedUpTo }: AuditDeps) {
  // Read before the ends of the log. Therefore everything accepted before loadedTo is before these ends.
  const loadedTo = await listedUpTo()
  const lags = await log.lag(LOADER_GROUP)
  const records = lags.reduce((sum, { committed, end }) => sum + end - committed, 0)
  const oldestAt = records === 0 ? undefined : await log.lowestUnread(LOADER_GROUP)
  return {
    loadedTo,
    ends: lags.map(({ partition, committed }) => ({ partition, offset: committed })),
    unread: { records, oldestAt },
  }
}

const emptyResult = (
  from: number,
  to: number,
  unread: AuditResult['unread'],
  corrections: { from: Micros; to: Micros },
): AuditResult => ({
  from,
  to,
  logged: 0,
  counted: 0,
  superseded: 0,
  contradicted: 0,
  dead: 0,
  reset: 0,
  lost: 0,
  stored: 0,
  corrections: { ...corrections, made: 0, applied: 0, followed: 0, waiting: 0, unapplied: 0 },
  contradictions: [],
  countedByMonth: 0,
  missing: [],
  sharedKeys: [],
  findings: [],
  findingsMore: 0,
  unread,
})

/** Finds rows that the other checks cannot reach, at most FINDINGS_MAX of each kind. */
async function findElsewhere({ events, list, clock }: AuditDeps, result: AuditResult): Promise<void> {
  for (const id of await events.listMisplaced(result.from, result.to, FINDINGS_MAX))
    report(result, { kind: 'misplaced', eventId: id, detail: 'counted at another time than its id says' })
  const from = unixSeconds(clock()) + CLOCK_AHEAD_MAX_S
  const range = { from, to: LAST_SECOND, after: undefined, limit: FINDINGS_MAX }
  for (const { id, acceptedSecond } of (await list.listEntriesAccepted(range)).map(entryFromBinary))
    report(result, {
      kind: 'accepted in the future',
      eventId: id,
      detail: `at ${new Date(acceptedSecond * 1_000).toISOString()}`,
    })
}
