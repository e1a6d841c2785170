import { isUtf8 } from 'node:buffer'
import { setImmediate as letOthersWork } from 'node:timers/promises'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { EventLog, LogRecord, Position } from '../../../shared/event-log/event-log.ts'
import { type Micros, unixSeconds } from '../../../shared/time/microsecond-clock.ts'
import { splitLines } from '../../../shared/usage-lines/lines.ts'
import { parseLogLine } from '../../../shared/usage-lines/log-line.ts'

/** The position of a line in the log. */
export interface LogLinePosition {
  partition: number
  offset: number
  line: number
}

/** A parsed line of the log. */
export type LogLine = LogLinePosition & { acceptedAt: Micros } & (
    { event: UsageEvent } | { unreadable: true }
  )

/** A line before it is parsed. */
export type RawLogLine = LogLinePosition & { record: Pick<LogRecord, 'acceptedAt'>; bytes: Buffer }

/** Some lines of one partition. */
export interface LogLines {
  lines: RawLogLine[]
  /** Unix second up to which every partition is read. A few lines accepted earlier may still follow. */
  readTo: number
}

const READ_BYTES = 4_000_000
/** How many bytes are read at once when lines are read again. Such lines are few, and rarely next to each other. */
const READ_AGAIN_BYTES = 500_000

/**
 * Reads all partitions of the log again, side by side. The order is roughly that of acceptance. It is not exact,
 * because the log may get an event after another that was accepted later.
 *
 * @param starts, ends where to begin and to stop in each partition
 * @param linesMax the maximum number of lines that are returned at once
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
    // readTo is the lowest time of acceptance, not the highest: a clock that is ahead must not make it too high.
    behind.readTo = Infinity
    let lines: RawLogLine[] = []
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

/** Reads the next records of a partition and moves the cursor. Returns none if the log has dropped them. */
async function readRecords(
  log: Pick<EventLog, 'read'>,
  cursor: { partition: number; next: number; end: number },
): Promise<LogRecord[]> {
  const { partition, next, end } = cursor
  const records = await log.read({ partition, offset: next }, READ_BYTES)
  cursor.next = (records.at(-1)?.offset ?? end - 1) + 1
  return records.filter(({ offset }) => offset < end)
}

function linesOf(record: LogRecord): RawLogLine[] {
  const { partition, offset } = record
  return splitLines(record.value).map((bytes, line) => ({ partition, offset, line, record, bytes }))
}

/** Parses a line. A line that is not valid comes back as unreadable. */
export function parseRawLogLine({ partition, offset, line, record, bytes }: RawLogLine): LogLine {
  const parsed = isUtf8(bytes) ? parseLogLine(bytes.toString()) : undefined
  if (parsed === undefined || 'fault' in parsed)
    return { partition, offset, line, acceptedAt: record.acceptedAt, unreadable: true }
  return { partition, offset, line, acceptedAt: parsed.event.acceptedAt, event: parsed.event }
}

/**
 * Reads some lines a second time.
 *
 * @param positions in order of partition, offset and line
 * @throws DomainError unprocessable when the log has dropped a line since the first reading
 */
export async function* readAgain(
  log: Pick<EventLog, 'read'>,
  positions: readonly LogLinePosition[],
): AsyncGenerator<RawLogLine> {
  let at = 0
  for (let position = positions[at]; position !== undefined; position = positions[at]) {
    const { partition, offset } = position
    const from = at
    for (const record of await log.read({ partition, offset }, READ_AGAIN_BYTES)) {
      const lines = linesOf(record)
      for (
        let next = positions[at];
        next?.partition === partition && next.offset === record.offset;
        next = positions[++at]
      ) {
        const line = lines[next.line]
        if (line !== undefined) yield line
      }
    }
    if (at === from)
      throw new DomainError(
        'unprocessable',
        `the event log has dropped offset ${offset} of partition ${partition} during the audit: ask for a later --from`,
      )
  }
}
