import { DomainError } from '../errors/domain-error.ts'
import { FairSemaphore, type FairSemaphoreOptions } from './fair-semaphore.ts'

/** Well below the time limit of a request (REQUEST_TIMEOUT_MS), so that the answer can name the reason. */
const WAIT_MS = 10_000

/**
 * A process's semaphore for long work of requests. A rejection is a DomainError overloaded.
 *
 * @param work a clause that follows "too much" in the error message, for example "usage is read"
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
