import { WorkQueue } from '../../batching/work-queue.ts'
import { DomainError } from '../../errors/domain-error.ts'

/** Connections to ClickHouse are few, and one such read may hold one for seconds: balances need the others. */
const AT_ONCE = 2
const WAITING_MAX = 1_000
/** … of one company. */
const WAITING_MAX_OF_ONE = 100
/** Well below what a request may take (REQUEST_TIMEOUT_MS), so that it still tells why. */
const WAIT_MS = 10_000

/**
 * The places of a process for reads that go through all events of a time, to be shared by all who do so. Companies are given them in turn.
 * Who is turned away gets a DomainError overloaded.
 */
export const rawReadPlaces = (
  options: Partial<Record<'atOnce' | 'waitingMax' | 'waitingMaxOfOne' | 'waitMs', number>> = {},
): WorkQueue =>
  new WorkQueue({
    atOnce: AT_ONCE,
    waitingMax: WAITING_MAX,
    waitingMaxOfOne: WAITING_MAX_OF_ONE,
    waitMs: WAIT_MS,
    turnedAway: (reason) =>
      new DomainError('overloaded', `too much usage is read at once: ${reason}, try again later`),
    ...options,
  })
