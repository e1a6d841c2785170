import type { Trouble } from '../../shared/lifecycle/activity.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { RefillRequestListener } from '../../shared/postgres/refill-requests.ts'
import { balancesLoop, type BalancesLoopDeps } from './balances-loop.ts'
import { creditsLoop } from './credits-loop.ts'
import type { GiveContractCredits } from './give-contract-credits.ts'
import { runLoop } from './refill-loop.ts'
import type { RefillMetrics } from './refill-metrics.ts'
import { sweepLoop, type SweepLoopDeps } from './sweep-loop.ts'

export interface KeepBalancesDeps extends Omit<BalancesLoopDeps, 'sweeps'>, SweepLoopDeps {
  giveCredits: GiveContractCredits
  metrics: RefillMetrics
  log: Logger
}

export interface KeepBalancesTimes {
  checkMs: number
  sweepMs: number
  /** The time between two searches for due credit in all namespaces. */
  creditsMs: number
}

/** Checks and refills balances until it is closed. */
export interface Keeper extends Closeable, RefillRequestListener {
  /** The steps that have failed for at least this long without a break. */
  listTroubles(forMs: number): Trouble[]
  /** Whether a check of changed balances has been running for this long without an end or a failure. */
  isStuck(forMs: number): boolean
}

/**
 * Runs three loops at the same time. The first checks balances that may have changed. The second checks all balances at
 * intervals, and so finds changes that the first misses. The third gives credit of contracts.
 */
export function keepBalances(
  deps: KeepBalancesDeps,
  { checkMs, sweepMs, creditsMs }: KeepBalancesTimes,
): Keeper {
  const { metrics, log } = deps
  const stopping = new AbortController()
  const sweeps = sweepLoop(deps, sweepMs)
  const balances = balancesLoop({ ...deps, sweeps })
  const credits = creditsLoop(deps.giveCredits, creditsMs)
  const loops = [balances, sweeps, credits]
  const running = Promise.all(loops.map((loop) => runLoop(loop, { checkMs, metrics, log }, stopping.signal)))
  return {
    name: 'refills',
    onRequest(request) {
      sweeps.addNamespace(request.namespaceId)
      balances.request(request)
    },
    onCreditRequest: credits.request,
    onGap: sweeps.request,
    listTroubles: (forMs) =>
      loops.map(({ activity }) => activity.findTrouble(forMs)).filter((trouble) => trouble !== undefined),
    isStuck: (forMs) => balances.activity.isStuck(forMs),
    async close() {
      stopping.abort()
      await running
    },
  }
}
