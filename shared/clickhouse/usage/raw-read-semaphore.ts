import type { FairSemaphore } from '../../batching/fair-semaphore.ts'
import { requestSemaphore } from '../../batching/request-semaphore.ts'

/** Connections to ClickHouse are few, and one such read may hold one for seconds: balances need the others. */
const AT_ONCE = 2
const WAITING_MAX = 1_000
/** … of one company. */
const WAITING_MAX_OF_ONE = 100

/**
 * The semaphore of a process for reads that go through all events of a time, for all who do so. Companies have their
 * turn.
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
