/** One record of an input, taken apart but not understood yet. */
export interface InputLine {
  /** Where it begins and ends, from 1; the same unless a quoted cell holds line ends. */
  line: number
  lastLine: number
  /** The record as it stands in the input, without its line end; line ends within are LF. What the key is made of. */
  text: string
  /** The cells of the columns asked for, in that order: exact text, undefined where the line has none. */
  cells: readonly (string | undefined)[]
  /** What each of these columns is called in keys. */
  columnKeys: readonly string[]
  /** The properties asked for, without empty ones. */
  properties: Readonly<Record<string, unknown>>
}

/** A record that cannot be an event. */
export interface BadLine {
  line: number
  lastLine: number
  /** Why, for people. */
  fault: string
}

/** What is wanted of each record. */
export interface WantedColumns {
  cells: readonly string[]
  properties: readonly PropertyColumn[]
}

export interface PropertyColumn {
  column: string
  /** What it is called in the event. */
  name: string
}

export type InputLines = AsyncIterable<InputLine | BadLine>

/** A longer record is not read: a quote that is never closed would gather the rest of the input in memory. */
export const RECORD_BYTES_MAX = 1_048_576

/** What a decoder puts in the place of bytes that are not UTF-8. */
const REPLACEMENT = '\uFFFD'

/** Whether a cell lost bytes in decoding: a name that was altered in silence would be worse than a bad line. */
export const isDamaged = (text: string | undefined): boolean => text?.includes(REPLACEMENT) === true

export const NOT_UTF8 = 'holds bytes that are not UTF-8'

/** A bad line as people are told of it. */
export function describeBadLine({ line, lastLine, fault }: BadLine): string {
  const place = line === lastLine ? `line ${line}` : `lines ${line} to ${lastLine}`
  return `bad ${place}: ${fault}`
}
