import { DomainError } from '../errors/domain-error.ts'
import { FairSemaphore, type FairSemaphoreOptions } from './fair-semaphore.ts'

/** Well below what a request may take (REQUEST_TIMEOUT_MS), so that it still tells why. */
const WAIT_MS = 10_000

/**
 * The semaphore of a process for what requests do that takes long. Who is rejected gets a DomainError overloaded.
 *
 * @param work what is done, after "too much": "usage is read"
 */
export const requestSemaphore = (
  work: string,
  options: Omit<FairSemaphoreOptions, 'waitMs' | 'rejection'> & Partial<Pick<FairSemaphoreOptions, 'waitMs'>>,
): FairSemaphore =>
  new FairSemaphore({
    waitMs: WAIT_MS,
    rejection: (reason) =>
      new DomainError('overloaded', `too much ${work} at once: ${reason}, try again later`),
    ...options,
  })
