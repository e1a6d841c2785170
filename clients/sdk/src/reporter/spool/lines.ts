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
  const events: string[] = []
  const damaged: Buffer[] = []
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, start)
    const line = bytes.subarray(start, end === -1 ? bytes.length : end)
    start += line.length + 1
    if (line.length === 0) continue
    const json = line.subarray(HEAD_BYTES)
    // A line without its end was cut off.
    const isWhole = end !== -1 && line.subarray(0, HEAD_BYTES).toString('latin1') === `1 ${checksum(json)} `
    if (isWhole) events.push(json.toString())
    else damaged.push(line)
  }
  return { events, damaged }
}

const checksum = (json: string | Buffer): string => crc32(json).toString(16).padStart(8, '0')
