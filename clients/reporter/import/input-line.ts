/** One record of an input, split into cells but not interpreted yet. */
export interface InputLine {
  /** The number of the record's first line, from 1. `lastLine` is the same unless a quoted cell has line ends. */
  line: number
  lastLine: number
  /**
   * The record as in the input, without its line end. Line ends within it are LF. The event's key is made from this
   * text.
   */
  text: string
  /** The exact text of the cells in the wanted columns, in the order of these columns; undefined for a missing cell. */
  cells: readonly (string | undefined)[]
  /** What stands for each of these columns in an event's idempotency key: in CSV the column's number, in NDJSON its name. */
  columnKeys: readonly string[]
  /** The wanted properties, without empty ones. */
  properties: Readonly<Record<string, unknown>>
}

/** A record that cannot be an event. */
export interface BadLine {
  line: number
  lastLine: number
  /** The reason, as a message for people. */
  fault: string
}

/** The wanted columns of each record. */
export interface WantedColumns {
  cells: readonly string[]
  properties: readonly PropertyColumn[]
}

export interface PropertyColumn {
  column: string
  /** The name of the property in the event. */
  name: string
}

export type InputLines = AsyncIterable<InputLine | BadLine>

/** The longest record. Without a limit, a quote that is never closed would collect the rest of the input in memory. */
export const RECORD_BYTES_MAX = 1_048_576

/** A decoder puts this in place of bytes that are not UTF-8. */
const REPLACEMENT = '\uFFFD'

/** Whether a cell lost bytes in decoding. Such a line is bad, because a name must not change silently. */
export const isDamaged = (text: string | undefined): boolean => text?.includes(REPLACEMENT) === true

export const NOT_UTF8 = 'holds bytes that are not UTF-8'

/** Makes the message about a bad line. */
export function describeBadLine({ line, lastLine, fault }: BadLine): string {
  const place = line === lastLine ? `line ${line}` : `lines ${line} to ${lastLine}`
  return `bad ${place}: ${fault}`
}
