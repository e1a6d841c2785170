import { isUtf8 } from 'node:buffer'
import { splitLines } from '../../shared/domain/lines.ts'
import { parseUsageLine } from '../../shared/domain/usage-event-line.ts'
import type { LogRecord } from '../../shared/event-log/event-log.ts'

/** A line of a record that cannot be counted, and why. */
export interface RejectedLine {
  /** Which line of the record, from 0. */
  line: number
  reason: string
  value: Buffer
}

/** The lines of a record, sorted out. */
export interface ReadRecord {
  /** Lines that can be counted, byte for byte as they lie in the log, without their line ends. */
  lines: { line: number; bytes: Buffer }[]
  rejected: RejectedLine[]
}

/** Sorts out the lines of a record. What a batch must survive is data here, not an exception. */
export function readRecord({ value }: Pick<LogRecord, 'value'>): ReadRecord {
  const read: ReadRecord = { lines: [], rejected: [] }
  for (const [line, bytes] of splitLines(value).entries()) {
    const reason = findFault(bytes)
    if (reason === undefined) read.lines.push({ line, bytes })
    else read.rejected.push({ line, reason, value: bytes })
  }
  return read
}

function findFault(line: Buffer): string | undefined {
  if (!isUtf8(line)) return 'not valid UTF-8'
  const parsed = parseUsageLine(line.toString())
  return 'fault' in parsed ? parsed.fault : undefined
}
