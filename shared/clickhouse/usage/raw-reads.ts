import { requestPlaces } from '../../batching/request-places.ts'
import type { WorkQueue } from '../../batching/work-queue.ts'

/** Connections to ClickHouse are few, and one such read may hold one for seconds: balances need the others. */
const AT_ONCE = 2
const WAITING_MAX = 1_000
/** … of one company. */
const WAITING_MAX_OF_ONE = 100

/**
 * The places of a process for reads that go through all events of a time, to be shared by all who do so. Companies are given them in turn.
 */
export const rawReadPlaces = (
  options: Partial<Record<'atOnce' | 'waitingMax' | 'waitingMaxOfOne' | 'waitMs', number>> = {},
): WorkQueue =>
  requestPlaces('usage is read', {
    atOnce: AT_ONCE,
    waitingMax: WAITING_MAX,
    waitingMaxOfOne: WAITING_MAX_OF_ONE,
    ...options,
  })
