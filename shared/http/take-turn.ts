import { setImmediate as nextRound } from 'node:timers/promises'

/** A body of which this much is to be worked on takes a millisecond … */
const LARGE_BYTES = 16 * 1_024
/** … and bodies of this much are enough for one round of the event loop. */
const ROUND_BYTES = 128 * 1_024

let round = Promise.resolve()
let roundLeft = 0

/**
 * To be waited for before a stretch of work on a body: gives callers a round of the event loop together until they bring enough work for it,
 * in the order they came. Large bodies that arrive together would be worked on one right after the other, and whoever else shares the process
 * would wait for all of them at each of its steps. Small ones do not wait.
 */
export async function takeTurn(bytes: number): Promise<void> {
  if (bytes < LARGE_BYTES) return
  if (roundLeft <= 0) {
    round = round.then(() => nextRound())
    roundLeft = ROUND_BYTES
  }
  roundLeft -= bytes
  await round
}
