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
import { type AuditResult, FINDINGS_MAX, report } from './audit-result.ts'
import { auditRows, reportUnconfirmed } from './audit-rows.ts'
import { Confirmations } from './confirmations.ts'
import { findSharedKeys } from './find-shared-keys.ts'
import { LogLineTable } from './log-line-table.ts'
import { matchLines, type MatchLinesDeps } from './match-lines.ts'
import { type LogLine, parseRawLogLine, type RawLogLine, readAgain, readLogLines } from './read-log-lines.ts'

export interface AuditDeps extends AuditLinesDeps, AuditCorrectionsDeps, AuditMonthsDeps, MatchLinesDeps {
  log: EventLog
  /** No event accepted before this can still turn up. */
  listedUpTo: () => Promise<Micros>
  clock: Clock
  /** Told now and then how far it has come. */
  onProgress: (progress: { readTo: number; lines: number }) => void
  signal: AbortSignal
}

/** Lines that are read, or looked up whole, at once. */
const LINES_AT_ONCE = 3_000
/** How far ahead of ours another machine's clock may be. */
const CLOCK_AHEAD_MAX_S = 300
const LAST_SECOND = 2 ** 32 - 1

/**
 * Proves for a range of acceptance time that nothing accepted was lost, doubled or altered, and that nothing is counted
 * that nobody reported. It reads the log again, line by line, and looks every event up in ClickHouse and the dead
 * letters. Memory does not grow with what was accepted: lines are compared a round at a time and forgotten.
 *
 * Reports are compared by what identifies them and a digest of their content (matchLines). Only what differs, and what
 * is no plain report, is read whole (auditLines), to say what it is: a repeat, whatever became of its event since, or
 * another content under the same id (tellRepeats).
 *
 * How many events there were in each month is in PostgreSQL for good, too: none that was counted may be missing.
 *
 * Corrections are in PostgreSQL for good: each that was made in the wanted time is looked for, however long ago that
 * was.
 *
 * @param wanted Unix seconds; the start is moved up to where the log is whole, the end down to what is surely loaded
 * @param lagMaxS how long a correction may be on its way to the log
 * @param linesARound how many lines are looked up at once, some 90 bytes each; the more, the less often busy slots are
 *   read
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
  /** Looks lines up whole, some at once. @param told is told what they say of their events */
  const lookUpBy = (told: Parameters<typeof auditLines>[2]) => {
    let some: LogLine[] = []
    const end = async () => {
      await auditLines(some, deps, told, result)
      some = []
    }
    const lookAt = async (line: RawLogLine) => {
      const parsed = parseRawLogLine(line)
      if (isWanted(parsed.acceptedAt) && some.push(parsed) === LINES_AT_ONCE) await end()
    }
    return { lookAt, end }
  }
  const odd = lookUpBy(confirmations)
  const differing = lookUpBy(TOLD_BY_THE_TABLE)
  const isWanted = (at: Micros) => unixSeconds(at) >= from && unixSeconds(at) < to
  /** Matches the lines of a round, then compares the rows of ClickHouse that were accepted before a second. */
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
      // A line of before what was compared comes late: few do, and it may be what an unconfirmed row waits for.
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
  await auditMonths(deps, result)
  await findElsewhere(deps, result)
  await findSharedKeys(deps, result)
  return result
}

/** What differing lines say of their events is in the table. */
const TOLD_BY_THE_TABLE = { confirm: () => undefined, note: () => undefined }

const tooManyApart = (lines: number) =>
  new DomainError(
    'unprocessable',
    `${lines} lines were accepted later than what was read of other partitions: the clocks of the gateways are far apart`,
  )

/** What is loaded, and where the log ends. */
async function readState({ log, listedUpTo }: AuditDeps) {
  // In this order: everything accepted before the first is behind the second.
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

/** Rows where no look-up goes; of each kind only as many as are shown. */
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
