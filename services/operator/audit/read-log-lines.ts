import { isUtf8 } from 'node:buffer'
import { setImmediate as letOthersWork } from 'node:timers/promises'
import { splitLines } from '../../../shared/domain/lines.ts'
import { parseUsageLine } from '../../../shared/domain/usage-event-line.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import type { EventLog, LogRecord, Position } from '../../../shared/event-log/event-log.ts'
import { unixSeconds, type Micros } from '../../../shared/time/microsecond-clock.ts'

/** Where a line lies in the log. */
export interface LinePlace {
  partition: number
  offset: number
  line: number
}

/** A line of the log as the audit reads it again. */
export type LogLine = LinePlace & { acceptedAt: Micros } & ({ event: UsageEvent } | { unreadable: true })

/** Some lines of one partition. */
export interface LogLines {
  lines: LogLine[]
  /** Unix second: every partition was read about this far. A line that was accepted earlier may still come, but few do. */
  readTo: number
}

const READ_BYTES = 4_000_000

/**
 * Reads the log again, all partitions side by side in order of acceptance, as far as that goes: what was accepted first may
 * be appended last.
 *
 * @param starts, ends where to begin and to stop in each partition
 * @param linesMax the most lines that are given out at once
 */
export async function* readLogLines(
  log: Pick<EventLog, 'read'>,
  starts: readonly Position[],
  ends: readonly Position[],
  linesMax: number,
): AsyncGenerator<LogLines> {
  const cursors = ends.map(({ partition, offset: end }) => ({
    partition,
    next: starts.find((start) => start.partition === partition)?.offset ?? 0,
    end,
    readTo: 0,
  }))
  for (;;) {
    const [behind, ...others] = cursors
      .filter(({ next, end }) => next < end)
      .sort((a, b) => a.readTo - b.readTo)
    if (behind === undefined) return
    const othersReadTo = Math.min(...others.map(({ readTo }) => readTo))
    // The least of what is read now, not the most: a machine whose clock is ahead must not run away with the others.
    behind.readTo = Infinity
    let lines: LogLine[] = []
    for (let isFull = false; !isFull && behind.next < behind.end;) {
      for (const record of await readRecords(log, behind)) {
        behind.readTo = Math.min(behind.readTo, unixSeconds(record.acceptedAt))
        for (const line of linesOf(record)) {
          if (lines.length === linesMax) {
            yield { lines, readTo: Math.min(behind.readTo, othersReadTo) }
            lines = []
            isFull = true
          }
          lines.push(line)
        }
        await letOthersWork()
      }
    }
    yield { lines, readTo: Math.min(behind.readTo, othersReadTo) }
  }
}

/** The next records of a partition, which moves on; none where they were dropped meanwhile. */
async function readRecords(
  log: Pick<EventLog, 'read'>,
  cursor: { partition: number; next: number; end: number },
): Promise<LogRecord[]> {
  const { partition, next, end } = cursor
  const records = await log.read({ partition, offset: next }, READ_BYTES)
  cursor.next = (records.at(-1)?.offset ?? end - 1) + 1
  return records.filter(({ offset }) => offset < end)
}

function linesOf({ partition, offset, acceptedAt, value }: LogRecord): LogLine[] {
  return splitLines(value).map((bytes, line) => {
    const parsed = isUtf8(bytes) ? parseUsageLine(bytes.toString()) : undefined
    if (parsed === undefined || 'fault' in parsed)
      return { partition, offset, line, acceptedAt, unreadable: true }
    return { partition, offset, line, acceptedAt: parsed.event.acceptedAt, event: parsed.event }
  })
}
