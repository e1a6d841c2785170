import { isUtf8 } from 'node:buffer'
import { splitLines } from '../../shared/domain/lines.ts'
import { parseUsageLine } from '../../shared/domain/usage-event-line.ts'
import type { LogRecord } from '../../shared/event-log/event-log.ts'

/** Lines that lie side by side in a record, byte for byte as they lie in the log. */
export interface Block {
  partition: number
  offset: number
  /** Which line of the record the first one is, from 0. */
  line: number
  rows: number
  bytes: Buffer
}

/** A line that cannot be counted, and why. */
export interface RejectedLine {
  at: Block
  reason: string
}

/** The lines of a record, sorted out. */
export interface ReadRecord {
  /** Lines that can be counted. */
  blocks: Block[]
  rejected: RejectedLine[]
}

/** Sorts out the lines of a record. What a batch must survive is data here, not an exception. */
export function readRecord(record: LogRecord): ReadRecord {
  const { partition, offset, value } = record
  const rows = countGoodLines(value)
  // Why a whole record at once: nearly every one is good throughout, and this copies nothing.
  if (rows !== undefined)
    return { blocks: [{ partition, offset, line: 0, rows, bytes: value }], rejected: [] }
  const read: ReadRecord = { blocks: [], rejected: [] }
  for (const block of linesOf({ partition, offset, line: 0, rows: 0, bytes: value })) {
    const reason = findFault(block.bytes)
    if (reason === undefined) read.blocks.push(block)
    else read.rejected.push({ at: block, reason })
  }
  return read
}

/** A block, line by line. */
export const linesOf = ({ partition, offset, line, bytes }: Block): Block[] =>
  splitLines(bytes).map((text, index) => ({ partition, offset, line: line + index, rows: 1, bytes: text }))

/** How many lines a value has; undefined when one of them cannot be counted. */
function countGoodLines(value: Buffer): number | undefined {
  if (!isUtf8(value)) return undefined
  const text = value.toString()
  let rows = 0
  for (let start = 0; start < text.length || rows === 0; rows++) {
    const end = text.indexOf('\n', start)
    const line = end < 0 ? text.slice(start) : text.slice(start, end)
    if ('fault' in parseUsageLine(line)) return undefined
    start = end < 0 ? text.length : end + 1
  }
  return rows
}

function findFault(line: Buffer): string | undefined {
  if (!isUtf8(line)) return 'not valid UTF-8'
  const parsed = parseUsageLine(line.toString())
  return 'fault' in parsed ? parsed.fault : undefined
}
