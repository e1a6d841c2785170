import { crc32 } from 'node:zlib'

const NEWLINE = 10
/** `1 ` and eight hexadecimal digits and a space. */
const HEAD_BYTES = 11

/** The length of a line, for JSON of this length. */
export const lineBytes = (jsonBytes: number): number => HEAD_BYTES + jsonBytes + 1

/** Makes a line of a spool: the version, a checksum, JSON. */
export const encodeLine = (json: string): string => `${headOf(json)}${json}\n`

/** A larger group gets memory of its own, which is not kept. */
const KEPT_BYTES_MAX = 1_024 * 1_024

/** Makes the lines of one group after the other in the same memory, so that they leave no garbage. */
export class LineBuffer {
  private memory = Buffer.alloc(0)

  /** @returns the lines, which the next call may overwrite */
  encode(events: readonly { readonly json: string; readonly bytes: number }[]): Buffer {
    const length = events.reduce((sum, { bytes }) => sum + lineBytes(bytes), 0)
    const memory = this.memory.length < length ? Buffer.allocUnsafeSlow(length) : this.memory
    if (length <= KEPT_BYTES_MAX) this.memory = memory
    let at = 0
    for (const { json } of events) {
      at += memory.write(headOf(json), at, 'latin1')
      at += memory.write(json, at)
      memory[at++] = NEWLINE
    }
    return memory.subarray(0, at)
  }
}

/** Reads the lines of a file. Those that are damaged are returned as they are. */
export function parseLines(bytes: Buffer): { events: string[]; damaged: Buffer[] } {
  const events: string[] = []
  const damaged = eachLine(bytes, (start, end) => {
    events.push(bytes.toString('utf8', start + HEAD_BYTES, end))
  })
  return { events, damaged }
}

/**
 * Separates the lines of a file that are whole, with their ends, from those that are damaged. Whole lines without a
 * damaged one between them stay together.
 */
export function checkLines(bytes: Buffer): { whole: Buffer[]; lines: number; damaged: Buffer[] } {
  const whole: Buffer[] = []
  let lines = 0
  let [from, to] = [0, 0]
  const take = () => {
    if (to > from) whole.push(bytes.subarray(from, to))
  }
  const damaged = eachLine(bytes, (start, end) => {
    if (start > to) {
      take()
      from = start
    }
    to = end + 1
    lines++
  })
  take()
  return { whole, lines, damaged }
}

/** Calls a function with the place of each line that is whole. @returns the damaged lines */
function eachLine(bytes: Buffer, onWhole: (start: number, end: number) => void): Buffer[] {
  const damaged: Buffer[] = []
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline === -1 ? bytes.length : newline
    // A line without its end was cut off.
    const isWhole = newline !== -1 && isUnchanged(bytes, start, end)
    if (isWhole) onWhole(start, end)
    else if (end > start) damaged.push(bytes.subarray(start, end))
    start = end + 1
  }
  return damaged
}

const isUnchanged = (bytes: Buffer, start: number, end: number): boolean =>
  bytes.toString('latin1', start, Math.min(start + HEAD_BYTES, end)) ===
  headOf(bytes.subarray(Math.min(start + HEAD_BYTES, end), end))

const headOf = (json: string | Buffer): string => `1 ${checksum(json)} `

const checksum = (json: string | Buffer): string => crc32(json).toString(16).padStart(8, '0')
