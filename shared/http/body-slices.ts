import { bytesInFlight } from './bytes-in-flight.ts'
import { HttpError } from './http-error.ts'

/** A body of which this much is to be worked on takes a millisecond … */
const LARGE_BYTES = 16 * 1_024
/** … and bodies of this much are enough for one round of the event loop. */
const ROUND_BYTES = 128 * 1_024
/** A request that goes through Express takes about as long as so much of a body, a quarter of a millisecond. */
const REQUEST_BYTES = LARGE_BYTES / 4

interface Waiting {
  bytes: number
  isWanted: () => boolean
  goOn: () => void
  giveUp: () => void
}

/** Bodies that were worked on before, in the order they came. */
const begun: Waiting[] = []
/** What is to be begun, by whose it is, in the order it came; none of them empty. They take turns. */
const fresh = new Map<string, Waiting[]>()
/** Of this round. */
let bytesLeft = ROUND_BYTES
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
 * @param tenant whose it is; tenants take turns
 * @throws HttpError 400 when it is not wanted
 */
export const awaitFirstSlice = (bytes: number, isWanted: () => boolean, tenant = ''): Promise<void> =>
  bytes < LARGE_BYTES
    ? Promise.resolve()
    : keptInFlight(bytes, tenant, () => queueFresh(bytes, isWanted, tenant))

/**
 * The same before each slice that follows; goes before all first ones, so that few bodies are taken apart at a time,
 * however many wait.
 */
export const awaitNextSlice = (bytes: number, tenant = ''): Promise<void> =>
  bytes < LARGE_BYTES
    ? Promise.resolve()
    : keptInFlight(
        bytes,
        tenant,
        () =>
          new Promise((goOn, giveUp) => {
            begun.push({ bytes, isWanted: () => true, goOn, giveUp })
            schedule()
          }),
      )

/**
 * Wait for this before a request is begun: each round begins a few dozen, those of tenants in turn. Without that, one
 * tenant's many connections, all of which have something to say in a round, would keep others waiting for all of them,
 * in each of the rounds that a request takes.
 *
 * @returns undefined when it may begin at once
 * @throws HttpError 400 when it is not wanted any more
 */
export function awaitRequest(isWanted: () => boolean, tenant: string): Promise<void> | undefined {
  if (begun.length === 0 && fresh.size === 0 && bytesLeft > 0) {
    bytesLeft -= REQUEST_BYTES
    schedule()
    return undefined
  }
  return queueFresh(REQUEST_BYTES, isWanted, tenant)
}

/**
 * Wait for this before an answer about many things is put together. Those who share a batch of reads have what they
 * need in the same moment, and everybody else would wait for all of their answers: so a round has one or two.
 *
 * @param bytes that would take as long as a body
 * @throws HttpError 400 when it is not wanted any more
 */
export const awaitAnswer = (bytes: number, isWanted: () => boolean, tenant: string): Promise<void> =>
  bytes < LARGE_BYTES ? Promise.resolve() : queueFresh(bytes, isWanted, tenant)

function queueFresh(bytes: number, isWanted: () => boolean, tenant: string): Promise<void> {
  return new Promise((goOn, reject) => {
    const giveUp = () => {
      reject(new HttpError(400, 'the request was cut short'))
    }
    const waiting = fresh.get(tenant) ?? []
    waiting.push({ bytes, isWanted, goOn, giveUp })
    fresh.set(tenant, waiting)
    schedule()
  })
}

/** Counts a body that was read and waits to be worked on among those in flight. */
async function keptInFlight(bytes: number, tenant: string, wait: () => Promise<void>): Promise<void> {
  bytesInFlight.add(tenant, bytes)
  try {
    await wait()
  } finally {
    bytesInFlight.give(tenant, bytes)
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
  bytesLeft = ROUND_BYTES
  while (bytesLeft > 0) {
    const next = begun.shift() ?? shiftFresh()
    if (next === undefined) return
    if (!next.isWanted()) {
      next.giveUp()
      continue
    }
    bytesLeft -= next.bytes
    next.goOn()
  }
  schedule() // for those who wait, and for the next round
}

/** The first of the tenant whose turn it is; the tenant comes last then. */
function shiftFresh(): Waiting | undefined {
  const [turn] = fresh
  if (turn === undefined) return undefined
  const [tenant, waiting] = turn
  const next = waiting.shift()
  fresh.delete(tenant)
  if (waiting.length > 0) fresh.set(tenant, waiting)
  return next
}
