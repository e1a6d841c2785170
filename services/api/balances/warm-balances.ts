import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecentlyUsed } from '../../../shared/clickhouse/rollups/recently-used-accounts.ts'
import type { AccountSumsReader } from '../../../shared/clickhouse/usage/account-sums.ts'
import type { Closeable } from '../../../shared/lifecycle/close-all.ts'
import { repeat } from '../../../shared/lifecycle/repeat.ts'
import { loggableError } from '../../../shared/logging/loggable-error.ts'
import type { Logger } from '../../../shared/logging/logger.ts'
import type { Metrics } from '../../../shared/metrics/metrics.ts'

interface WarmBalancesDeps {
  /** The reader that balances are computed with. It caches the sums that it has read. */
  usage: Pick<AccountSumsReader, 'readAhead'>
  listRecentlyUsed: (limit: number) => Promise<RecentlyUsed[]>
}

export interface WarmingDeps extends WarmBalancesDeps {
  usage: Pick<AccountSumsReader, 'readAhead' | 'countMisses'>
}

export interface WarmingOptions {
  /** The maximum number of accounts that are read ahead; 0: none. */
  accountsMax: number
  everyMs: number
  /** The shortest time between two rounds when the second begins early because of WOKEN_BY_MISSES. */
  wokenAfterMs: number
}

/**
 * How many accounts share a query. If more accounts share one, each costs less CPU, but requests for balances wait
 * longer.
 */
const AT_ONCE = 500
/** After each read, the warming pauses for this many times the duration of the read. */
const REST = 4
const FIRST_AFTER_MS = 1_000
/** After this many reads of accounts that were not cached, the next round begins early. */
const WOKEN_BY_MISSES = 10
const LOOKS_EVERY_MS = 200
const JOB = 'warming of balances'

/**
 * Reads the usage of accounts whose balances clients will probably request. Then the first balance of an account is as
 * quick as the next. When accounts cannot be read, it goes on with the others.
 *
 * @param signal stops the warming at once; a query that ClickHouse has begun runs to its end
 * @returns how many accounts were read
 * @throws the first failure, after all other accounts were read
 * @internal
 */
export async function warmBalances(
  { usage, listRecentlyUsed }: WarmBalancesDeps,
  accountsMax: number,
  signal: AbortSignal,
): Promise<number> {
  const over = new AbortController()
  const stopped = untilStopped(signal, over.signal)
  const failures: unknown[] = []
  let warmed = 0
  try {
    for (const { namespaceId, accountIds } of await Promise.race([listRecentlyUsed(accountsMax), stopped]))
      for (let first = 0; first < accountIds.length; first += AT_ONCE) {
        signal.throwIfAborted()
        const page = accountIds.slice(first, first + AT_ONCE)
        const startedAt = performance.now()
        try {
          await Promise.race([usage.readAhead(namespaceId, page), stopped])
          warmed += page.length
        } catch (err) {
          signal.throwIfAborted()
          failures.push(err)
        }
        await sleep((performance.now() - startedAt) * REST, undefined, { signal })
      }
  } finally {
    over.abort()
    await stopped.catch(() => undefined)
  }
  if (failures.length > 0) throw failures[0]
  return warmed
}

/**
 * Warms balances soon after the start and then repeatedly, because other accounts come into use and late usage makes
 * cached sums invalid. When several requested accounts were not cached, the next round begins early.
 */
export function keepBalancesWarm(
  deps: WarmingDeps,
  { accountsMax, everyMs, wokenAfterMs }: WarmingOptions,
  metrics: Metrics,
  log: Logger,
): Closeable {
  const warm = metrics.gauge('tally_api_warm_accounts', 'Accounts whose usage the last round read ahead.')
  const last = { endedAt: -Infinity, misses: 0 }
  const isDue = () => {
    const agoMs = performance.now() - last.endedAt
    const misses = deps.usage.countMisses() - last.misses
    return agoMs >= everyMs || (agoMs >= wokenAfterMs && misses >= WOKEN_BY_MISSES)
  }
  return repeat(
    JOB,
    LOOKS_EVERY_MS,
    async (signal) => {
      if (accountsMax === 0 || !isDue()) return
      try {
        warm.set([], await warmBalances(deps, accountsMax, signal))
      } finally {
        Object.assign(last, { endedAt: performance.now(), misses: deps.usage.countMisses() })
      }
    },
    (err, signal) => {
      if (!signal.aborted) log.warn({ err: loggableError(err) }, 'could not read usage ahead, trying again')
    },
    FIRST_AFTER_MS,
  )
}

/** Rejects when `signal` aborts. To end the wait for `signal`, abort `over`: then it rejects, too. */
async function untilStopped(signal: AbortSignal, over: AbortSignal): Promise<never> {
  await once(signal, 'abort', { signal: over })
  throw new Error('stopped')
}
