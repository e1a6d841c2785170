import { keepInFlight } from './collect-bytes.ts'
import { HttpError } from './http-error.ts'

/** A body of which this much is to be worked on takes a millisecond … */
const LARGE_BYTES = 16 * 1_024
/** … and bodies of this much are enough for one round of the event loop. */
const ROUND_BYTES = 128 * 1_024

interface Waiting {
  bytes: number
  isWanted: () => boolean
  goOn: () => void
  giveUp: () => void
}

/** Bodies that were worked on before, and others; each in the order they came. */
const begun: Waiting[] = []
const fresh: Waiting[] = []
let isScheduled = false

/**
 * Wait for this before a body is first worked on. Each round of the event loop begins work on a bounded number of bytes
 * of bodies; without that, large bodies that arrive together would be worked on one right after the other, and
 * everything else in the process would wait for all of them. Small ones do not wait.
 *
 * A body may not be wanted any more when its slice comes: its client has gone, or was told that it took too long. Were
 * it worked on all the same, clients who give up and send again would keep a busy process busy with what nobody waits
 * for.
 *
 * @param isWanted asked when the slice comes; a body that is not takes none
 * @throws HttpError 400 when it is not wanted
 */
export const awaitFirstSlice = (bytes: number, isWanted: () => boolean): Promise<void> =>
  queue(fresh, bytes, isWanted)

/**
 * The same before each slice that follows; goes before all first ones, so that few bodies are taken apart at a time,
 * however many wait.
 */
export const awaitNextSlice = (bytes: number): Promise<void> => queue(begun, bytes, () => true)

async function queue(waiting: Waiting[], bytes: number, isWanted: () => boolean): Promise<void> {
  if (bytes < LARGE_BYTES) return
  const isWorkedOn = keepInFlight(bytes)
  try {
    await new Promise<void>((goOn, reject) => {
      const giveUp = () => {
        reject(new HttpError(400, 'the request was cut short'))
      }
      waiting.push({ bytes, isWanted, goOn, giveUp })
      schedule()
    })
  } finally {
    isWorkedOn()
  }
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(runSlices)
}

/** One round. */
function runSlices(): void {
  isScheduled = false
  for (let left = ROUND_BYTES; left > 0;) {
    const next = begun.shift() ?? fresh.shift()
    if (next === undefined) return
    if (!next.isWanted()) {
      next.giveUp()
      continue
    }
    left -= next.bytes
    next.goOn()
  }
  if (begun.length + fresh.length > 0) schedule()
}
