import { crc32 } from 'node:zlib'

const NEWLINE = 10
/** `1 ` and eight hexadecimal digits and a space. */
const HEAD_BYTES = 11

/** The length of a line, for JSON of this length. */
export const lineBytes = (jsonBytes: number): number => HEAD_BYTES + jsonBytes + 1

/** Makes a line of a spool: the version, a checksum, JSON. */
export const encodeLine = (json: string): string => `1 ${checksum(json)} ${json}\n`

/** Reads the lines of a file. Those that are damaged are returned as they are. */
export function parseLines(bytes: Buffer): { events: string[]; damaged: Buffer[] } {
  const { whole, damaged } = checkLines(bytes)
  return { events: whole.map((line) => line.subarray(HEAD_BYTES, -1).toString()), damaged }
}

/** Separates the lines of a file that are whole, with their ends, from those that are damaged. */
export function checkLines(bytes: Buffer): { whole: Buffer[]; damaged: Buffer[] } {
  const whole: Buffer[] = []
  const damaged: Buffer[] = []
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, start)
    const line = bytes.subarray(start, end === -1 ? bytes.length : end)
    // A line without its end was cut off.
    const isWhole = end !== -1 && isUnchanged(line)
    if (isWhole) whole.push(bytes.subarray(start, end + 1))
    else if (line.length > 0) damaged.push(line)
    start += line.length + 1
  }
  return { whole, damaged }
}

const isUnchanged = (line: Buffer): boolean =>
  line.subarray(0, HEAD_BYTES).toString('latin1') === `1 ${checksum(line.subarray(HEAD_BYTES))} `

const checksum = (json: string | Buffer): string => crc32(json).toString(16).padStart(8, '0')
