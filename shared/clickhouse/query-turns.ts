import type { ClickHouseSettings } from '@clickhouse/client'
import type { FairSemaphore, PermitRequest } from '../batching/fair-semaphore.ts'
import { requestSemaphore } from '../batching/request-semaphore.ts'

/** The turns that queries wait for before they take a connection, and the priority with which they run. */
export interface QueryTurns {
  /** @returns a function that gives the connection back */
  acquire(request: PermitRequest): Promise<() => void>
  /** The priority of the queries, as ClickHouse's settings. */
  settings: ClickHouseSettings
  /** The number of queries that wait. */
  queued(): number
}

/** The number of connections that long reads leave free, for balances and for the look-ups of corrections. */
const FOR_SHORT_READS = 2
/** The longest time that a query pauses between two blocks while queries with a smaller priority number run. */
const REST_MS = 50

/**
 * Settings for the priority of a query: 1 for short reads, 2 for long reads, 3 for analysts' queries. In ClickHouse, a
 * query pauses while queries with a smaller number run. Inserts, rollups and merges have no number: they do not pause,
 * and no query pauses for them.
 */
export const settingsOfPriority = (priority: 1 | 2 | 3): ClickHouseSettings => ({
  priority: String(priority),
  low_priority_query_wait_time_ms: String(REST_MS),
})

/** The longest time that a query waits for a turn. A request may take as long as this. */
const WAIT_MS = 30_000
const WAITING_MAX = 10_000
/** The maximum number of queries of one company that wait. */
const WAITING_MAX_OF_ONE = 1_000

/**
 * Turns for the connections to a ClickHouse, which companies share. If there are more than two connections, one company
 * never has all of them. Reads that may take long never use the connections that are kept for short reads.
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

/**
 * The company that a query belongs to, by its parameters. A query of several namespaces, or of none, belongs to no
 * company.
 */
export function tenantOf({ namespaceId, namespaceIds }: Record<string, unknown>): string {
  if (typeof namespaceId === 'string') return namespaceId
  const [only, ...others] = Array.isArray(namespaceIds) ? (namespaceIds as unknown[]) : []
  return typeof only === 'string' && others.length === 0 ? only : ''
}
