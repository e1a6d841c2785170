import { writeSync } from 'node:fs'

const STANDARD_ERROR = 2

/** How long a line waits for a slow reader; the whole process waits with it. */
const BUSY_MS = 1_000
const BUSY_PAUSE_MS = 10

/**
 * Writes some of the bytes, at least one.
 *
 * @returns how many
 * @throws when none can be written
 */
type WriteSome = (bytes: Buffer) => number

/**
 * Returns a function that writes lines, each at once. A line that cannot be written is dropped: a full disk, or a
 * reader that has gone, must not end the process. A partly written line gets a line end before the next one.
 *
 * @param busyMs how long a line waits for a slow reader; after a line was dropped, lines do not wait at all until a
 *   line is written again
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
 * Tries again while a pipe has no room. Why the thread sleeps: if a line waited on the event loop, later lines would
 * overtake it.
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

/** Nothing wakes a thread that sleeps on it. */
const SLEEP = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

const write = lineWriter((bytes) => writeSync(STANDARD_ERROR, bytes))
let dropped = 0

/** Writes a line of the log to standard error, or drops and counts it. */
export function writeToStandardError(line: string): void {
  if (!write(line)) dropped++
}

/** The number of log lines of this process that could not be written. */
export const droppedLines = (): number => dropped
