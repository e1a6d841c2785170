import { Activity } from '../../shared/lifecycle/activity.ts'
import type { GiveContractCredits } from './give-contract-credits.ts'
import type { RefillLoop } from './refill-loop.ts'

export interface CreditsLoop extends RefillLoop {
  /** Makes the next round give the credit of a namespace. */
  request: (namespaceId: string) => void
}

/**
 * Gives credit of contracts: in all namespaces at intervals, and at once in namespaces where it is requested.
 *
 * @param creditsMs the time from the start of one round in all namespaces to the start of the next
 */
export function creditsLoop(giveCredits: GiveContractCredits, creditsMs: number): CreditsLoop {
  let requestedIn = new Set<string>()
  let givenToAllAt = -Infinity
  const isDueToAll = () => performance.now() - givenToAllAt >= creditsMs
  return {
    step: 'credits',
    activity: new Activity('giving credit of contracts'),
    isDue: () => isDueToAll() || requestedIn.size > 0,
    async work(signal) {
      const startedAt = performance.now()
      const requested = requestedIn
      const only = isDueToAll() ? undefined : requested
      requestedIn = new Set()
      try {
        await giveCredits(only, signal)
      } catch (err) {
        requestedIn = new Set([...requestedIn, ...requested])
        throw err
      }
      if (only === undefined) givenToAllAt = startedAt
    },
    request(namespaceId) {
      requestedIn.add(namespaceId)
    },
  }
}
