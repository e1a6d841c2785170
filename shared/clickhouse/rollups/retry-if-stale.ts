import { DomainError } from '../../errors/domain-error.ts'
import { steadyClock } from '../../time/steady-clock.ts'

/** Longer than any read takes; replaced rollups are kept for longer still (services/rollup/config.ts). */
const STALE_AFTER_MS = 120_000

/**
 * Runs work that looks up an epoch and then uses it. Runs it again if it took so long that the epoch may be gone,
 * because the process or its machine was suspended.
 *
 * @throws DomainError overloaded when the second run took too long as well
 */
export async function retryIfStale<T>(work: () => Promise<T>, clockMs = steadyClock()): Promise<T> {
  for (let attempt = 1; attempt <= 2; attempt++) {
    const startedAt = clockMs()
    const result = await work()
    if (clockMs() - startedAt < STALE_AFTER_MS) return result
  }
  throw new DomainError('overloaded', 'reading usage takes too long, try again later')
}
