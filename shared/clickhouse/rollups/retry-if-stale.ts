import { DomainError } from '../../errors/domain-error.ts'
import { steadyClock } from '../../time/steady-clock.ts'

/** More than reading takes; rollups that were replaced are kept for longer (services/rollup/config.ts). */
const STALE_AFTER_MS = 120_000

/**
 * Does something that goes by an epoch which it looks up first, and does it again when that took so long that the epoch
 * may be gone: because the process or its machine stood still.
 *
 * @throws DomainError overloaded when it took as long again: it is not done for ever
 */
export async function retryIfStale<T>(work: () => Promise<T>, clockMs = steadyClock()): Promise<T> {
  for (let attempt = 1; attempt <= 2; attempt++) {
    const startedAt = clockMs()
    const result = await work()
    if (clockMs() - startedAt < STALE_AFTER_MS) return result
  }
  throw new DomainError('overloaded', 'reading usage takes too long, try again later')
}
