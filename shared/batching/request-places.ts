import { DomainError } from '../errors/domain-error.ts'
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts'

/** Well below what a request may take (REQUEST_TIMEOUT_MS), so that it still tells why. */
const WAIT_MS = 10_000

/**
 * The places of a process for what requests do that takes long. Who is turned away gets a DomainError overloaded.
 *
 * @param work what is done, after "too much": "usage is read"
 */
export const requestPlaces = (
  work: string,
  options: Omit<WorkQueueOptions, 'waitMs' | 'turnedAway'> & Partial<Pick<WorkQueueOptions, 'waitMs'>>,
): WorkQueue =>
  new WorkQueue({
    waitMs: WAIT_MS,
    turnedAway: (reason) =>
      new DomainError('overloaded', `too much ${work} at once: ${reason}, try again later`),
    ...options,
  })
