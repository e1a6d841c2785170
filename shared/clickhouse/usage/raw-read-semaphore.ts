import type { FairSemaphore } from '../../batching/fair-semaphore.ts'
import { requestSemaphore } from '../../batching/request-semaphore.ts'

/**
 * A read of all events of a range may use a connection for seconds. There are few connections, and balances need them
 * too.
 */
const AT_ONCE = 2
const WAITING_MAX = 1_000
/** The maximum number of reads of one company that wait. */
const WAITING_MAX_OF_ONE = 100

/**
 * Makes the semaphore that limits reads of all events of a range. Such reads of a process share it; companies take
 * turns.
 */
export const rawReadSemaphore = (
  options: Partial<Record<'atOnce' | 'waitingMax' | 'waitingMaxOfOne' | 'waitMs', number>> = {},
): FairSemaphore =>
  requestSemaphore('usage is read', {
    atOnce: AT_ONCE,
    waitingMax: WAITING_MAX,
    waitingMaxOfOne: WAITING_MAX_OF_ONE,
    ...options,
  })
