import type { TouchedUsage } from '../../shared/clickhouse/events/touched-usage.ts'
import { isMetric } from '../../shared/domain/usage-source.ts'
import { Activity } from '../../shared/lifecycle/activity.ts'
import type { RefillConfigurationKey } from '../../shared/postgres/refill-configurations.ts'
import type { RefillRequest } from '../../shared/postgres/refill-requests.ts'
import type { CheckBalances } from './check-balances.ts'
import type { UsagePoll } from './follow-usage.ts'
import { nameOf, type RefillCooldowns } from './refill-cooldowns.ts'
import type { RefillLoop } from './refill-loop.ts'
import type { SweepLoop } from './sweep-loop.ts'

export interface BalancesLoopDeps {
  /** Lists the accounts and sources in the given namespaces whose usage has changed. */
  follow: (namespaceIds: readonly string[]) => Promise<UsagePoll>
  check: CheckBalances
  cooldowns: Pick<RefillCooldowns, 'end' | 'takeDue'>
  sweeps: Pick<SweepLoop, 'namespaces' | 'request'>
}

export interface BalancesLoop extends RefillLoop {
  /** Makes the next round check a balance, even if it is cooling down. */
  request: (balance: RefillRequest) => void
}

/** The maximum number of requests that may wait. If there are more, all configurations are checked. */
const REQUESTED_MAX = 20_000

/**
 * Makes the loop that checks balances. It checks balances with changed usage, requested balances, and balances whose
 * cooldown is over. If a round fails, the next round checks the same balances again.
 */
export function balancesLoop({ follow, check, cooldowns, sweeps }: BalancesLoopDeps): BalancesLoop {
  let requested = new Map<string, RefillRequest>()
  return {
    step: 'follow',
    activity: new Activity('following usage'),
    isDue: () => true,
    async work(signal) {
      const { touched, acknowledge } = await follow([...sweeps.namespaces()])
      if (touched === undefined) sweeps.request()
      for (const request of requested.values()) cooldowns.end(request)
      const asked = [...requested.values(), ...cooldowns.takeDue(performance.now())]
      requested = new Map()
      try {
        for (const [namespaceId, keys] of byNamespace([...asked, ...(touched ?? []).flatMap(metricOf)]))
          if (sweeps.namespaces().has(namespaceId)) await check(namespaceId, keys, signal)
      } catch (err) {
        for (const request of asked) requested.set(nameOf(request), request)
        throw err
      }
      acknowledge()
    },
    request(balance) {
      if (requested.size < REQUESTED_MAX) requested.set(nameOf(balance), balance)
      else sweeps.request()
    },
  }
}

const metricOf = ({ namespaceId, accountId, source }: TouchedUsage): RefillRequest[] =>
  isMetric(source) ? [{ namespaceId, accountId, metricId: source }] : []

function byNamespace(balances: readonly RefillRequest[]): Map<string, RefillConfigurationKey[]> {
  const seen = new Set<string>()
  const groups = new Map<string, RefillConfigurationKey[]>()
  for (const { namespaceId, ...key } of balances) {
    const name = nameOf({ namespaceId, ...key })
    if (seen.has(name)) continue
    seen.add(name)
    const group = groups.get(namespaceId) ?? []
    groups.set(namespaceId, group)
    group.push(key)
  }
  return groups
}
