import { keepInFlight } from './collect-bytes.ts'

/** A body of which this much is to be worked on takes a millisecond … */
const LARGE_BYTES = 16 * 1_024
/** … and bodies of this much are enough for one round of the event loop. */
const ROUND_BYTES = 128 * 1_024

interface Waiting {
  bytes: number
  goOn: () => void
}

/** Bodies that were worked on before, and others; each in the order they came. */
const begun: Waiting[] = []
const fresh: Waiting[] = []
let isScheduled = false

/**
 * To be waited for before each stretch of work on a body: gives those who wait a round of the event loop together as long as they bring little
 * work. Large bodies that arrive together would be worked on one right after the other, and whoever else shares the process would wait
 * for all of them at each of its steps. Small ones do not wait.
 *
 * What is begun goes first, so that few bodies are taken apart at a time, however many wait.
 *
 * @param isBegun whether it was worked on before
 */
export async function takeTurn(bytes: number, isBegun: boolean): Promise<void> {
  if (bytes < LARGE_BYTES) return
  const isWorkedOn = keepInFlight(bytes)
  await new Promise<void>((goOn) => {
    ;(isBegun ? begun : fresh).push({ bytes, goOn })
    schedule()
  })
  isWorkedOn()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(giveTurns)
}

/** One round. */
function giveTurns(): void {
  isScheduled = false
  for (let left = ROUND_BYTES; left > 0;) {
    const next = begun.shift() ?? fresh.shift()
    if (next === undefined) return
    left -= next.bytes
    next.goOn()
  }
  if (begun.length + fresh.length > 0) schedule()
}
