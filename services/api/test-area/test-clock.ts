import type { Caller } from '../../../shared/domain/api-key.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { AHEAD_MAX_S, namespaceClockRepository } from '../../../shared/postgres/namespace-clocks.ts'
import { requestCredits, requestRefills } from '../../../shared/postgres/refill-requests.ts'
import type { TestWorlds } from '../../../shared/postgres/test-worlds.ts'
import { type Attempt, onceWithin } from '../core/once.ts'
import { moveWorld } from './move-world.ts'

/** The clock of a test company's namespace. Each function returns how far the clock is ahead of real time, in ms. */
export interface TestClock {
  /**
   * Sets the clock to a Unix second. The clock continues from that second.
   *
   * @throws DomainError unprocessable when the second lies before the clock's time, or too far ahead of real time
   */
  set(caller: Caller, second: number): Promise<number>
  /**
   * Moves the clock ahead by some seconds, once for each Idempotency-Key.
   *
   * @throws DomainError conflict when the key was used before, unprocessable when the new time is too far ahead
   */
  advance(caller: Caller, seconds: number, attempt: Attempt): Promise<number>
  /** Sets the clock back to real time. */
  reset(caller: Caller): Promise<number>
}

export function testClock(worlds: TestWorlds): TestClock {
  return {
    set: (caller, second) =>
      moveWorld(
        worlds,
        caller,
        { action: 'company.clock_set', changes: { now: second } },
        (db, { namespaceId, aheadMs }) => {
          const realMs = Date.now()
          const shown = Math.floor((realMs + aheadMs) / 1_000)
          if (second < shown)
            throw new DomainError(
              'unprocessable',
              `now: the clock shows ${shown} and goes forward only; reset it to return to real time`,
            )
          const wanted = second * 1_000 - realMs
          requireNear('now', wanted)
          return setAhead(db, namespaceId, wanted)
        },
      ),
    advance: (caller, seconds, attempt) =>
      moveWorld(
        worlds,
        caller,
        { action: 'company.clock_advanced', changes: { seconds } },
        (db, { namespaceId, aheadMs }) =>
          onceWithin(
            db,
            namespaceId,
            attempt,
            () => caller.companyId,
            () => {
              const wanted = aheadMs + seconds * 1_000
              requireNear('seconds', wanted)
              return setAhead(db, namespaceId, wanted)
            },
          ),
      ),
    reset: (caller) =>
      moveWorld(
        worlds,
        caller,
        { action: 'company.clock_returned', changes: {} },
        async (db, { namespaceId }) => {
          await namespaceClockRepository(db).reset(namespaceId)
          await requestRefills(db, namespaceId)
          return 0
        },
      ),
  }
}

/**
 * Moves the clock and requests checks of balances and of contracts' credits, because at the new time other grants may
 * be in force, and other periods of contracts may have begun.
 */
async function setAhead(db: PoolClient, namespaceId: string, aheadMs: number): Promise<number> {
  const set = await namespaceClockRepository(db).setAhead(namespaceId, aheadMs)
  await requestRefills(db, namespaceId)
  await requestCredits(db, namespaceId)
  return set
}

function requireNear(field: string, aheadMs: number): void {
  if (aheadMs > AHEAD_MAX_S * 1_000)
    throw new DomainError('unprocessable', `${field}: the clock may be at most ten years ahead of real time`)
}
