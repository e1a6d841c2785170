import { isUtf8 } from 'node:buffer'
import type { LogRecord } from '../../shared/event-log/event-log.ts'
import { splitLines } from '../../shared/usage-lines/lines.ts'
import { parseLogLine } from '../../shared/usage-lines/log-line.ts'
import {
  type LogLineSubject,
  readLogLineSubjects,
  subjectOf,
} from '../../shared/usage-lines/log-line-subjects.ts'

/** Consecutive lines of a record, with the same bytes as in the log. */
export interface Block {
  partition: number
  offset: number
  /** The index in the record of the block's first line, from 0. */
  line: number
  bytes: Buffer
  /** The subject of each line, in the order of the lines. */
  subjects: readonly LogLineSubject[]
}

/** A line that cannot be counted, and the reason. */
export interface RejectedLogLine {
  at: Block
  reason: string
}

/** The lines of a record: those that can be counted, and those that cannot. */
export interface ReadRecord {
  /** Lines that can be counted. */
  blocks: Block[]
  rejected: RejectedLogLine[]
}

/**
 * Separates the lines that can be counted from the others. It does not throw for a bad line, because the other lines
 * must still be stored.
 */
export function readRecord(record: LogRecord): ReadRecord {
  const { partition, offset, value } = record
  const subjects = isUtf8(value) ? readLogLineSubjects(value.toString()) : undefined
  // Why a whole record at once: nearly every record has only good lines, and this copies nothing.
  if (subjects !== undefined)
    return { blocks: [{ partition, offset, line: 0, bytes: value, subjects }], rejected: [] }
  const read: ReadRecord = { blocks: [], rejected: [] }
  for (const [line, bytes] of splitLines(value).entries()) {
    const parsed = isUtf8(bytes) ? parseLogLine(bytes.toString()) : { fault: 'not valid UTF-8' }
    if ('fault' in parsed)
      read.rejected.push({ at: { partition, offset, line, bytes, subjects: [] }, reason: parsed.fault })
    else read.blocks.push({ partition, offset, line, bytes, subjects: [subjectOf(parsed.event)] })
  }
  return read
}

/** Makes a block of each line. */
export const linesOf = ({ partition, offset, line, bytes, subjects }: Block): Block[] =>
  splitLines(bytes).map((text, index) => ({
    partition,
    offset,
    line: line + index,
    bytes: text,
    subjects: subjects.slice(index, index + 1),
  }))
