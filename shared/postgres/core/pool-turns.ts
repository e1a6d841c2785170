import { FairSemaphore } from '../../batching/fair-semaphore.ts'
import { requestSemaphore } from '../../batching/request-semaphore.ts'
import { CONNECT_MS, type Pool } from './pool.ts'

/** What requests wait for before they take a connection of a pool. */
export interface PoolTurns {
  /** By namespace. */
  connections: FairSemaphore
  /** By namespace and name: nearly all who would wait for a lock with a connection in hand wait here for it. */
  locks: FairSemaphore
}

/**
 * Of one lock: one has it, and the others begin or end. With one at a time a company made a third as many accounts a
 * second.
 */
const LOCK_AT_ONCE = 4
const WAITING_MAX = 10_000
/** … of one namespace, and of one name. */
const WAITING_MAX_OF_ONE = 1_000

const turnsOfPools = new WeakMap<Pool, PoolTurns>()

/**
 * Lets companies have their turn at the connections of a pool that requests share. One company has half of them at
 * most: whoever comes finds the others free.
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

/** Undefined for a pool whose connections are taken as they come. */
export const turnsOf = (pool: Pool): PoolTurns | undefined => turnsOfPools.get(pool)
