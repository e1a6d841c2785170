import { setImmediate as letOthersWork } from 'node:timers/promises'
import {
  DIGEST_ROW,
  type SecondsSplit,
  type usageDigestRepository,
} from '../../../shared/clickhouse/events/usage-digests.ts'
import { IDS_AT_ONCE } from '../../../shared/clickhouse/events/usage-events.ts'
import type { AuditLinesDeps } from './audit-lines.ts'
import type { AuditResult } from './audit-result.ts'
import type { Confirmations } from './confirmations.ts'
import { FATE, type LogLineTable } from './log-line-table.ts'
import { findRetired, keyOf } from './look-up-rows.ts'
import type { LogLinePosition } from './read-log-lines.ts'

export interface MatchLinesDeps extends Pick<AuditLinesDeps, 'retired'> {
  digests: ReturnType<typeof usageDigestRepository>
  signal: AbortSignal
}

/** How many rows are compared before the event loop gets to other work. */
const ROWS_A_SLICE = 20_000
/** The maximum number of rows that an answer of ClickHouse should have, because it is kept in memory. */
const ROWS_AT_ONCE = 500_000
/** All rows of a second are read when there are at most this many for each wanted line. */
const ROWS_PER_LINE_MAX = 40

/** Positions of lines that are neither counted nor superseded yet, in the order of the log. */
interface UnmatchedLogLines {
  /** Lines whose event counts with a later version that may have another content: a correction, or another report. */
  differing: LogLinePosition[]
  /** All other lines. */
  odd: LogLinePosition[]
}

/**
 * Looks up the events of the lines in the table, and counts the correct lines. A line is correct when the row of its id
 * has the line's content, and the line's version or a higher one.
 *
 * @param first the first line that is not matched yet
 * @returns the positions of all other lines. The caller reads them again to find out how they differ
 */
export async function matchLines(
  table: LogLineTable,
  first: number,
  { digests, retired, signal }: MatchLinesDeps,
  confirmations: Confirmations,
  result: AuditResult,
): Promise<UnmatchedLogLines> {
  for (const [namespaceId, bySecond] of linesBySecond(table, first)) {
    const judge = async (rows: Buffer) => {
      signal.throwIfAborted()
      for (let at = 0, n = 0; at < rows.length; at += DIGEST_ROW.bytes) {
        table.judge(namespaceId, rows, at, first)
        if (++n % ROWS_A_SLICE === 0) await letOthersWork()
      }
    }
    const { whole, apart } = planReading(
      bySecond,
      await digests.countBySecond(namespaceId, [...bySecond.keys()]),
    )
    for (const some of whole) await judge(await digests.listOfSeconds(namespaceId, some))
    for (let start = 0; start < apart.length; start += IDS_AT_ONCE) {
      const some = apart.slice(start, start + IDS_AT_ONCE)
      const seconds = [...new Set(some.map((line) => table.occurredSecond(line)))]
      const ids = some.map((line) => table.idOf(line))
      await judge(await digests.listOfIds(namespaceId, seconds, ids))
    }
  }
  const reset = await findRetired(retired, namespacesOf(table, first))
  const odd: LogLinePosition[] = []
  const differing: LogLinePosition[] = []
  for (let line = first; line < table.size; line++) {
    if (line % ROWS_A_SLICE === 0) await letOthersWork()
    if (reset.has(table.namespaceOf(line))) {
      table.setOdd(line)
      result.logged++
      result.reset++
      continue
    }
    const fate = table.fateOf(line)
    if (fate === FATE.superseded || fate === FATE.differing) noteLaterRow(table, line, confirmations)
    if (fate === FATE.counted) result.counted++
    else if (fate === FATE.superseded) result.superseded++
    else {
      ;(fate === FATE.differing ? differing : odd).push(table.positionOf(line))
      continue
    }
    result.logged++
  }
  return { differing: differing.sort(byPosition), odd: odd.sort(byPosition) }
}

const byPosition = (a: LogLinePosition, b: LogLinePosition): number =>
  a.partition - b.partition || a.offset - b.offset || a.line - b.line

/**
 * Notes a row that counts and was accepted in a later second than its line. The table may have dropped the line before
 * that row is compared.
 */
function noteLaterRow(table: LogLineTable, line: number, confirmations: Confirmations): void {
  if (table.rowSecond(line) <= table.acceptedSecond(line)) return
  const key = keyOf({ namespaceId: table.namespaceOf(line), id: `event_${table.idOf(line)}` })
  confirmations.note(key, table.rowSecond(line), 'superseded')
}

/** The lines of each namespace, by the second in which their usage occurred. */
function linesBySecond(table: LogLineTable, first: number): Map<string, Map<number, number[]>> {
  const namespaces = new Map<string, Map<number, number[]>>()
  for (let line = first; line < table.size; line++) {
    const namespaceId = table.namespaceOf(line)
    const bySecond = namespaces.get(namespaceId) ?? new Map<number, number[]>()
    namespaces.set(namespaceId, bySecond)
    const second = table.occurredSecond(line)
    const lines = bySecond.get(second)
    if (lines === undefined) bySecond.set(second, [line])
    else lines.push(line)
  }
  return namespaces
}

const namespacesOf = (table: LogLineTable, first: number): { namespaceId: string }[] => {
  const ids = new Set<string>()
  for (let line = first; line < table.size; line++) ids.add(table.namespaceOf(line))
  return [...ids].map((namespaceId) => ({ namespaceId }))
}

/**
 * Decides which seconds are read completely. The lines of the other seconds are looked up by id, because their seconds
 * have too many other rows. They are sorted by time, so that the rows of a slot are read once.
 *
 * @param counts the number of rows of each second
 */
function planReading(
  bySecond: ReadonlyMap<number, readonly number[]>,
  counts: ReadonlyMap<number, number>,
): { whole: SecondsSplit[]; apart: number[] } {
  const whole: SecondsSplit[] = []
  const apart: number[] = []
  let seconds: number[] = []
  let rows = 0
  const close = () => {
    const splits = Math.max(1, Math.ceil(rows / ROWS_AT_ONCE))
    if (seconds.length > 0)
      for (let split = 0; split < splits; split++) whole.push({ seconds, split, splits })
    seconds = []
    rows = 0
  }
  for (const [second, lines] of [...bySecond].sort(([a], [b]) => a - b)) {
    const count = counts.get(second) ?? 0
    if (count > lines.length * ROWS_PER_LINE_MAX) {
      for (const line of lines) apart.push(line)
      continue
    }
    if (rows + count > ROWS_AT_ONCE || seconds.length === IDS_AT_ONCE) close()
    seconds.push(second)
    rows += count
  }
  close()
  return { whole, apart }
}
