import { FairSemaphore } from '../../shared/batching/fair-semaphore.ts'
import { ClickHouseException } from './exception.ts'

/** Whether a client reads its answer. */
export interface Delivery {
  /**
   * Since when a part of the answer waits for the client to read it, by `performance.now()`. Undefined while none
   * waits.
   */
  heldSince: number | undefined
}

/** A long query that wants a place. */
export interface PlaceRequest {
  /** The analyst's name. */
  name: string
  /** Undefined for the analyst of all companies. */
  company: string | undefined
  signal: AbortSignal
  /** Ends the query and its sending. */
  cut: (reason: ClickHouseException) => void
}

export interface UnsentPlacesOptions {
  atOnce: number
  atOnceOfCompany: number
  atOnceOfOne: number
  waitingMax: number
  waitingMaxOfOne: number
  /** The longest time that a query may wait for its place. */
  waitMs: number
  rejection: (reason: string) => ClickHouseException
}

interface Holder {
  tenant: string
  delivery: Delivery
  cut: PlaceRequest['cut']
}

/**
 * A client that has read nothing for this long may lose its place. The operating system reports what a client has read
 * in steps of about a megabyte. So a client that reads slowly must have enough time for one step.
 */
const STALLED_MS = 10_000
const LOOK_EVERY_MS = 500

/**
 * A long query has a place until its answer is sent. The number of places is limited for each analyst, for each company
 * and for all together. While other queries wait, clients that read nothing of their answers lose their places, one
 * after the other: first the one that has read nothing for the longest time. A client that continues to read keeps its
 * place.
 */
export function unsentPlaces(options: UnsentPlacesOptions, stalledMs = STALLED_MS) {
  const { atOnce, atOnceOfCompany, atOnceOfOne, waitingMax, waitingMaxOfOne, waitMs, rejection } = options
  const common = { waitingMax, waitMs, rejection }
  // Queries wait in `own` first. So in `shared`, each analyst has at most atOnceOfOne queries, which wait together with
  // those of other analysts of the company.
  const own = new FairSemaphore({ ...common, atOnce: Infinity, atOnceOfOne, waitingMaxOfOne })
  const shared = new FairSemaphore({ ...common, atOnce, atOnceOfOne: atOnceOfCompany })
  const holders = new Set<Holder>()
  const waiting = new Map<object, string>()
  let looking: NodeJS.Timeout | undefined

  const cutStalled = () => {
    const isFull = shared.atWork >= atOnce
    const tenants = new Set(waiting.values())
    const latest = performance.now() - stalledMs
    const [stalled] = [...holders]
      .filter(({ tenant, delivery }) => (isFull || tenants.has(tenant)) && heldSinceOf(delivery) <= latest)
      .sort((a, b) => heldSinceOf(a.delivery) - heldSinceOf(b.delivery))
    if (stalled === undefined) return
    holders.delete(stalled)
    stalled.cut(isStalled())
  }
  const wait = async (tenant: string, signal: AbortSignal, untilMs: number): Promise<() => void> => {
    const place = {}
    waiting.set(place, tenant)
    looking ??= setInterval(cutStalled, LOOK_EVERY_MS)
    try {
      return await shared.acquire({ tenant, signal, waitMs: Math.max(0, untilMs - performance.now()) })
    } finally {
      waiting.delete(place)
      if (waiting.size === 0) {
        clearInterval(looking)
        looking = undefined
      }
    }
  }
  return {
    /** Waits for a place, and then does the work, which must keep `delivery` up to date. */
    run<T>(
      work: (delivery: Delivery) => Promise<T>,
      { name, company, signal, cut }: PlaceRequest,
    ): Promise<T> {
      const untilMs = performance.now() + waitMs
      const tenant = company === undefined ? `analyst ${name}` : `company ${company}`
      return own.run(
        async () => {
          const release = await wait(tenant, signal, untilMs)
          const holder: Holder = { tenant, delivery: { heldSince: undefined }, cut }
          holders.add(holder)
          try {
            return await work(holder.delivery)
          } finally {
            holders.delete(holder)
            release()
          }
        },
        { tenant: name, signal },
      )
    },
    get queued(): number {
      return own.queued + shared.queued
    },
    /** Rejects the queries that wait, and all later ones. */
    close(): void {
      own.close()
      shared.close()
    },
  }
}

export type UnsentPlaces = ReturnType<typeof unsentPlaces>

const heldSinceOf = ({ heldSince }: Delivery): number => heldSince ?? Infinity

const isStalled = (): ClickHouseException =>
  new ClickHouseException(
    [209, 'SOCKET_TIMEOUT'],
    'the client read nothing of the answer while other queries waited for their turn.',
  )
