import { bytesInFlight } from './bytes-in-flight.ts'
import { HttpError } from './http-error.ts'

/** A body of this many bytes takes about a millisecond of work. */
const LARGE_BYTES = 16 * 1_024
/** In each round of the event loop, work begins on about this many bytes of bodies. */
const ROUND_BYTES = 128 * 1_024
/** A request that goes through Express takes about as long as this many bytes of a body. */
const REQUEST_BYTES = LARGE_BYTES / 4

interface Waiting {
  bytes: number
  isWanted: () => boolean
  goOn: () => void
  giveUp: () => void
}

/** Bodies on which work has begun and which wait for their next slice, in the order in which they came here. */
const begun: Waiting[] = []
/** Work not yet begun, by tenant, in order of arrival; no list is empty. Tenants take turns. */
const fresh = new Map<string, Waiting[]>()
/** The number of bytes on which work may still begin in this round. */
let bytesLeft = ROUND_BYTES
let isScheduled = false

/**
 * Waits until work on a body may begin. Each round of the event loop begins work on a bounded number of bytes.
 * Otherwise large bodies that arrive together would be handled one right after the other, and would block everything
 * else in the process. Small bodies do not wait.
 *
 * When the turn of a body comes, nobody may want it any more: its client has gone, or got a timeout as answer. If such
 * bodies were handled, clients that give up and send again would keep the process busy with work that nobody waits for.
 *
 * @param isWanted called when the turn of the body comes. A body that is not wanted takes no slice
 * @param tenant the body's tenant; tenants take turns
 * @throws HttpError 400 when the body is not wanted any more
 */
export const awaitFirstSlice = (bytes: number, isWanted: () => boolean, tenant = ''): Promise<void> =>
  bytes < LARGE_BYTES
    ? Promise.resolve()
    : keptInFlight(bytes, tenant, () => queueFresh(bytes, isWanted, tenant))

/**
 * Waits for each further slice of a body. Further slices come before all first slices, so that few bodies are parsed at
 * the same time, however many wait.
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
 * Waits until a request may begin: each round begins a few dozen requests, and tenants take turns. A request needs
 * several rounds, and without turns a tenant with many busy connections would delay other tenants in each of them.
 *
 * @returns undefined when the request may begin at once
 * @throws HttpError 400 when the request is not wanted any more
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
 * Waits until a large answer may be built. Requests that share a batch of reads get their data at the same moment, and
 * building all of their answers at once would block the event loop. So a round builds as many as its bytes allow.
 *
 * @param bytes the size of a body that would take as much time as the answer takes to build
 * @throws HttpError 400 when the answer is not wanted any more
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

/** While a body waits for work, counts its bytes as in flight. */
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

/** Runs one round. */
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
  schedule() // the next round continues with the work that still waits, and sets bytesLeft again
}

/** Takes the first work of the tenant whose turn it is, and moves the tenant to the end. */
function shiftFresh(): Waiting | undefined {
  const [turn] = fresh
  if (turn === undefined) return undefined
  const [tenant, waiting] = turn
  const next = waiting.shift()
  fresh.delete(tenant)
  if (waiting.length > 0) fresh.set(tenant, waiting)
  return next
}
