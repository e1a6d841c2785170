import { isUtf8 } from 'node:buffer'
import { splitLines } from '../../../shared/domain/lines.ts'
import { parseUsageLine } from '../../../shared/domain/usage-event-line.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import type { EventLog, Position } from '../../../shared/event-log/event-log.ts'
import { MICROS_PER_SECOND, type Micros } from '../../../shared/time/microsecond-clock.ts'

/** Where a line lies in the log. */
export interface LinePlace {
  partition: number
  offset: number
  line: number
}

/** A line of the log as the audit reads it again. */
export type AuditedLine = LinePlace & { acceptedAt: Micros } & ({ event: UsageEvent } | { unreadable: true })

/** The lines that were accepted in a stretch of whole seconds. */
export interface LogWindow {
  /** Unix seconds, half-open. */
  from: number
  to: number
  lines: AuditedLine[]
}

/** How much later than a younger one a record may stand in its partition: longer than any append may take. */
export const DISORDER_MAX_S = 90

const READ_BYTES = 4_000_000

/**
 * Reads the log again, in windows of acceptance time: a window is given out once no partition can hold another line of
 * it, so two reports of one event in one window are seen together.
 *
 * @param from, to Unix seconds; lines accepted outside are left out
 * @param ends where to stop in each partition
 * @param linesMax a window is given out when it holds about this many lines
 */
export async function* readLogWindows(
  log: EventLog,
  { from, to }: { from: number; to: number },
  ends: readonly Position[],
  linesMax: number,
): AsyncGenerator<LogWindow> {
  const starts = await log.positionsAt(Math.max(0, from - DISORDER_MAX_S) * MICROS_PER_SECOND)
  const cursors = ends.map(({ partition, offset: end }) => ({
    partition,
    next: starts.find((start) => start.partition === partition)?.offset ?? 0,
    end,
    /** No line accepted before this second can follow. */
    passed: 0,
  }))
  let pending: AuditedLine[] = []
  let windowFrom = from
  for (;;) {
    const [behind] = cursors.filter(({ next, end }) => next < end).sort((a, b) => a.passed - b.passed)
    const passed = behind === undefined ? to : Math.min(to, behind.passed)
    if (behind === undefined || (passed > windowFrom && pending.length >= linesMax)) {
      const isDue = ({ acceptedAt }: AuditedLine) => acceptedAt < passed * MICROS_PER_SECOND
      yield { from: windowFrom, to: passed, lines: pending.filter(isDue) }
      pending = pending.filter((line) => !isDue(line))
      windowFrom = passed
    }
    if (behind === undefined) return
    const records = await log.read({ partition: behind.partition, offset: behind.next }, READ_BYTES)
    if (records.length === 0) {
      behind.next = behind.end // what is missing here was dropped meanwhile
      continue
    }
    for (const { partition, offset, acceptedAt, value } of records) {
      behind.next = offset + 1
      if (offset >= behind.end) break
      behind.passed = Math.max(behind.passed, Math.floor(acceptedAt / MICROS_PER_SECOND) - DISORDER_MAX_S)
      for (const line of linesOf(value, { partition, offset, acceptedAt }))
        if (line.acceptedAt >= from * MICROS_PER_SECOND && line.acceptedAt < to * MICROS_PER_SECOND)
          pending.push(line)
    }
  }
}

function linesOf(
  value: Buffer,
  record: { partition: number; offset: number; acceptedAt: Micros },
): AuditedLine[] {
  return splitLines(value).map((bytes, line) => {
    const parsed = isUtf8(bytes) ? parseUsageLine(bytes.toString()) : undefined
    if (parsed === undefined || 'fault' in parsed) return { ...record, line, unreadable: true }
    return { ...record, line, acceptedAt: parsed.event.acceptedAt, event: parsed.event }
  })
}
