import type { ClickHouseSettings } from '@clickhouse/client'
import type { FairSemaphore, PermitRequest } from '../batching/fair-semaphore.ts'
import { requestSemaphore } from '../batching/request-semaphore.ts'

/** What a query waits for before it takes a connection, and what goes on before it once it has one. */
export interface QueryTurns {
  /** @returns gives the connection back */
  acquire(request: PermitRequest): Promise<() => void>
  /** What its query gives way to. */
  settings: ClickHouseSettings
  /** How many wait. */
  queued(): number
}

/** Of all connections so many are kept free of reads that may take long: for balances, and for what corrections look up. */
const FOR_SHORT_READS = 2
/** Between two blocks a query rests while others of a smaller number run, but no longer than so. */
const REST_MS = 50

/**
 * Short reads go before long ones, and those before what analysts ask, on the cores of one ClickHouse: a query gives
 * way to those of a smaller number. Inserts, rollups and merges have none, and neither give way nor are given way to.
 */
export const settingsOfPriority = (priority: 1 | 2 | 3): ClickHouseSettings => ({
  priority: String(priority),
  low_priority_query_wait_time_ms: String(REST_MS),
})

/** As long as a request may take. */
const WAIT_MS = 30_000
const WAITING_MAX = 10_000
/** … of one company. */
const WAITING_MAX_OF_ONE = 1_000

/**
 * Turns at the connections to a ClickHouse, by company. One company never has all of them while there are more than
 * two, and reads that may take long never have those that are kept for short ones.
 */
export function queryTurns(connections: number): Record<'short' | 'long', QueryTurns> {
  const waiting = { waitMs: WAIT_MS, waitingMax: WAITING_MAX, waitingMaxOfOne: WAITING_MAX_OF_ONE }
  const semaphoreFor = (atOnce: number, atOnceOfOne: number): FairSemaphore =>
    requestSemaphore('is asked of ClickHouse', { ...waiting, atOnce, atOnceOfOne })
  const all = semaphoreFor(connections, Math.max(FOR_SHORT_READS, connections - 1))
  const longAtOnce = Math.max(1, connections - FOR_SHORT_READS)
  const long = semaphoreFor(longAtOnce, Math.max(1, longAtOnce - 1))
  return {
    short: {
      acquire: (request) => all.acquire(request),
      settings: settingsOfPriority(1),
      queued: () => all.queued,
    },
    long: {
      async acquire(request) {
        const until = performance.now() + WAIT_MS
        const releaseLong = await long.acquire(request)
        try {
          const release = await all.acquire({
            ...request,
            waitMs: Math.max(1, Math.ceil(until - performance.now())),
          })
          return () => {
            release()
            releaseLong()
          }
        } catch (err) {
          releaseLong()
          throw err
        }
      },
      settings: settingsOfPriority(2),
      queued: () => long.queued,
    },
  }
}

/** Whose query it is, by its parameters: that of one namespace, or of nobody by themselves. */
export function tenantOf({ namespaceId, namespaceIds }: Record<string, unknown>): string {
  if (typeof namespaceId === 'string') return namespaceId
  const [only, ...others] = Array.isArray(namespaceIds) ? (namespaceIds as unknown[]) : []
  return typeof only === 'string' && others.length === 0 ? only : ''
}
