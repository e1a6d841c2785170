import { FairSemaphore } from '../../batching/fair-semaphore.ts'
import { requestSemaphore } from '../../batching/request-semaphore.ts'
import { CONNECT_MS, type Pool } from './pool.ts'

/** The queues in which requests wait before they take a connection of a pool. */
export interface PoolTurns {
  /** Turns for connections, by namespace. */
  connections: FairSemaphore
  /**
   * Turns for locks, by namespace and lock. Nearly all requests that would wait for a lock while holding a connection
   * wait here instead.
   */
  locks: FairSemaphore
}

/**
 * The maximum number of requests at once that take the same lock. One holds the lock, while the others begin or end
 * their transactions. With only one at a time, a company's throughput would be lower: see
 * docs/decisions/0033-companies-take-turns.md.
 */
const LOCK_AT_ONCE = 4
const WAITING_MAX = 10_000
/** The limit for one namespace, or for one lock. */
const WAITING_MAX_OF_ONE = 1_000

const turnsOfPools = new WeakMap<Pool, PoolTurns>()

/**
 * Makes companies take turns at the connections of a pool that requests share. One company has at most half of them, so
 * that the rest is free for other companies.
 */
export function takeTurns(pool: Pool, connectionsMax: number): void {
  const waiting = { waitMs: CONNECT_MS, waitingMax: WAITING_MAX, waitingMaxOfOne: WAITING_MAX_OF_ONE }
  turnsOfPools.set(pool, {
    connections: requestSemaphore('is asked of PostgreSQL', {
      ...waiting,
      atOnce: connectionsMax,
      atOnceOfOne: Math.ceil(connectionsMax / 2),
    }),
    locks: requestSemaphore('of the same is changed', {
      ...waiting,
      atOnce: Infinity,
      atOnceOfOne: LOCK_AT_ONCE,
    }),
  })
}

/** Returns the turns of a pool; undefined for a pool without turns. */
export const turnsOf = (pool: Pool): PoolTurns | undefined => turnsOfPools.get(pool)
