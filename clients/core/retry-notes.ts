import type { Retry } from './ask.ts'

const AT_MOST_EVERY_MS = 2_000

/** Prints that requests are sent again. */
export interface RetryNotes {
  add: (retry: Retry) => void
  /** Prints further notes with another function. */
  printTo: (print: (line: string) => void) => void
}

/** Makes notes that print only some retries, because requests tend to fail together. */
export function retryNotes(print: (line: string) => void): RetryNotes {
  let printed = print
  let toldAt = -Infinity
  return {
    add: ({ reason, waitMs, leftMs }) => {
      const now = performance.now()
      if (now - toldAt < AT_MOST_EVERY_MS) return
      toldAt = now
      const [wait, left] = [waitMs, leftMs].map((ms) => (ms / 1_000).toFixed(1))
      printed(`${reason}; trying again in ${wait ?? ''} s, for up to ${left ?? ''} s`)
    },
    printTo: (to) => {
      printed = to
    },
  }
}
