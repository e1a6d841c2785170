import { setTimeout as sleep } from 'node:timers/promises'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { TouchedUsage } from '../../shared/clickhouse/events/touched-usage.ts'
import { isMetric } from '../../shared/domain/usage-source.ts'
import { Activity, type Trouble } from '../../shared/lifecycle/activity.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { RefillConfigurationKey } from '../../shared/postgres/refill-configurations.ts'
import type { RefillRequest, RefillRequestListener } from '../../shared/postgres/refill-requests.ts'
import type { CheckBalances } from './check-balances.ts'
import type { UsagePoll } from './follow-usage.ts'
import type { GiveContractCredits } from './give-contract-credits.ts'
import { nameOf, type RefillCooldowns } from './refill-cooldowns.ts'
import type { RefillMetrics, RefillStep } from './refill-metrics.ts'

export interface KeepBalancesDeps {
  /** Whose usage has changed, in some namespaces. */
  follow: (namespaceIds: readonly string[]) => Promise<UsagePoll>
  check: CheckBalances
  /** Goes through all configurations. @returns the namespaces that have any */
  sweep: (signal: AbortSignal) => Promise<Set<string>>
  giveCredits: GiveContractCredits
  cooldowns: RefillCooldowns
  metrics: RefillMetrics
  log: Logger
}

export interface KeepBalancesTimes {
  checkMs: number
  sweepMs: number
  /** Between two looks at what credit is due anywhere. */
  creditsMs: number
}

/** Looks after balances for as long as it is not closed. */
export interface Keeper extends Closeable, RefillRequestListener {
  /** What it has failed at for at least this long without a break. */
  listTroubles(forMs: number): Trouble[]
  /** Whether it has waited this long for something that does not even fail. */
  isStuck(forMs: number): boolean
}

/** Requests that are not looked at yet; beyond that all configurations are gone through. */
const REQUESTED_MAX = 20_000
/** The least time between two sweeps that were not due yet. */
const SWEEP_AGAIN_MS = 5_000

/**
 * Looks at the balances whose usage has changed, those that somebody asks for and those whose time has come, round
 * after round; and beside that, now and then, at all of them. Whatever one round misses, the next sweep finds. Credit
 * of contracts is given in rounds of its own, and at once where somebody asks for it.
 */
export function keepBalances(
  deps: KeepBalancesDeps,
  { checkMs, sweepMs, creditsMs }: KeepBalancesTimes,
): Keeper {
  const { metrics, log, cooldowns } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const following = new Activity('following usage')
  const sweeping = new Activity('going through the refill configurations')
  const giving = new Activity('giving credit of contracts')
  /** Those with active configurations, as the last sweep and requests since have shown. */
  let namespaces = new Set<string>()
  let requestedIn = new Set<string>()
  let requested = new Map<string, RefillRequest>()
  let isSweepWanted = true
  let sweptAt = -Infinity
  let creditsAskedFor = new Set<string>()
  let creditsGivenAt = -Infinity

  const round = async () => {
    const { touched, acknowledge } = await deps.follow([...namespaces])
    if (touched === undefined) isSweepWanted = true
    for (const request of requested.values()) cooldowns.end(request)
    const asked = [...requested.values(), ...cooldowns.takeDue(performance.now())]
    requested = new Map()
    try {
      for (const [namespaceId, keys] of byNamespace([...asked, ...(touched ?? []).flatMap(metricOf)]))
        if (namespaces.has(namespaceId)) await deps.check(namespaceId, keys, signal)
    } catch (err) {
      for (const request of asked) requested.set(nameOf(request), request)
      throw err
    }
    acknowledge()
  }
  const isSweepDue = () => {
    const sinceMs = performance.now() - sweptAt
    return sinceMs >= (isSweepWanted ? Math.min(SWEEP_AGAIN_MS, sweepMs) : sweepMs)
  }
  const sweep = async () => {
    const startedAt = performance.now()
    isSweepWanted = false
    requestedIn = new Set()
    try {
      const found = await deps.sweep(signal)
      if (signal.aborted) return
      namespaces = new Set([...found, ...requestedIn])
      sweptAt = startedAt
      metrics.swept((performance.now() - startedAt) / 1_000)
    } catch (err) {
      isSweepWanted = true
      throw err
    }
  }
  const isCreditDue = () => performance.now() - creditsGivenAt >= creditsMs
  const giveCredits = async () => {
    const startedAt = performance.now()
    const only = isCreditDue() ? undefined : creditsAskedFor
    const asked = creditsAskedFor
    creditsAskedFor = new Set()
    try {
      await deps.giveCredits(only, signal)
    } catch (err) {
      creditsAskedFor = new Set([...creditsAskedFor, ...asked])
      throw err
    }
    if (only === undefined) creditsGivenAt = startedAt
  }
  const repeat = async (
    step: RefillStep,
    activity: Activity,
    isDue: () => boolean,
    work: () => Promise<void>,
  ) => {
    let isFailing = false
    while (!signal.aborted) {
      if (isDue())
        try {
          await activity.attempt(work)
          isFailing = false
        } catch (err) {
          metrics.failed(step)
          const told = { err: loggableError(err), step }
          log[isFailing ? 'debug' : 'warn'](told, 'could not look after balances, trying again')
          isFailing = true
        }
      await sleep(checkMs, undefined, { signal }).catch(() => undefined)
    }
  }
  const running = Promise.all([
    repeat('follow', following, () => true, round),
    repeat('sweep', sweeping, isSweepDue, sweep),
    repeat('credits', giving, () => isCreditDue() || creditsAskedFor.size > 0, giveCredits),
  ])
  return {
    name: 'refills',
    onRequest(request) {
      namespaces.add(request.namespaceId)
      requestedIn.add(request.namespaceId)
      if (requested.size < REQUESTED_MAX) requested.set(nameOf(request), request)
      else isSweepWanted = true
    },
    onCreditRequest(namespaceId) {
      creditsAskedFor.add(namespaceId)
    },
    onGap() {
      isSweepWanted = true
    },
    listTroubles: (forMs) =>
      [following, sweeping, giving]
        .map((activity) => activity.findTrouble(forMs))
        .filter((trouble) => trouble !== undefined),
    isStuck: (forMs) => following.isStuck(forMs),
    async close() {
      stopping.abort()
      await running
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
