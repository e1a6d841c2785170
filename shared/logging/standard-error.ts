import { writeSync } from 'node:fs'

const STANDARD_ERROR = 2

/** The longest time that a line waits for a slow reader. The whole process waits in that time. */
const BUSY_MS = 1_000
const BUSY_PAUSE_MS = 10

/**
 * Writes one or more of the bytes.
 *
 * @returns the number of bytes written
 * @throws when no byte can be written
 */
type WriteSome = (bytes: Buffer) => number

/**
 * Returns a function that writes lines, each at once. A line that cannot be written is dropped, so that a full disk, or
 * a reader that has ended, does not end the process. After a line that was written only in part, a line end is written
 * before the next line.
 *
 * @param busyMs the longest time that a line waits for a slow reader. After a line was dropped, lines do not wait,
 *   until a line is written again
 * @returns a function that returns whether the line was written
 * @internal
 */
export function lineWriter(writeSome: WriteSome, busyMs = BUSY_MS): (line: string) => boolean {
  let isCutShort = false
  let isStuck = false
  return (line) => {
    let left: Buffer = Buffer.from(isCutShort ? `\n${line}` : line)
    const deadline = isStuck ? 0 : performance.now() + busyMs
    try {
      while (left.length > 0) {
        const written = whenNotBusy(() => writeSome(left), deadline)
        isCutShort = true
        left = left.subarray(written)
      }
    } catch {
      isStuck = true
      return false
    }
    isCutShort = false
    isStuck = false
    return true
  }
}

/**
 * Repeats a write while a pipe has no room. Why the thread sleeps: if a line waited on the event loop, later lines
 * would be written before it.
 */
function whenNotBusy(write: () => number, deadline: number): number {
  for (;;) {
    try {
      return write()
    } catch (err) {
      const isBusy = err instanceof Error && 'code' in err && err.code === 'EAGAIN'
      if (!isBusy || performance.now() >= deadline) throw err
      Atomics.wait(SLEEP, 0, 0, BUSY_PAUSE_MS)
    }
  }
}

/** The thread sleeps by waiting on this array. No code wakes it, so it sleeps for the whole time. */
const SLEEP = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

const write = lineWriter((bytes) => writeSync(STANDARD_ERROR, bytes))
let dropped = 0

/** Writes a line of the log to standard error, or drops and counts it. */
export function writeToStandardError(line: string): void {
  if (!write(line)) dropped++
}

/** The number of log lines of this process that could not be written. */
export const droppedLines = (): number => dropped
