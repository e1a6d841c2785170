import { parseLines } from '../../sdk/src/reporter/internal.ts'

const NEWLINE = Buffer.from('\n')

/**
 * Reads the JSON of lines. Those that a disk changed, or a crash cut off, are returned byte for byte, each with an end. A
 * last line that lacks its end alone is whole.
 */
export function readLines(bytes: Buffer): { whole: string[]; damaged: Buffer[] } {
  const { events, damaged } = parseLines(Buffer.concat([bytes, NEWLINE]))
  return { whole: events, damaged: damaged.map((line) => Buffer.concat([line, NEWLINE])) }
}
