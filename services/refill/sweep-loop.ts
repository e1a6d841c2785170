import { Activity } from '../../shared/lifecycle/activity.ts'
import type { RefillLoop } from './refill-loop.ts'
import type { RefillMetrics } from './refill-metrics.ts'

export interface SweepLoopDeps {
  /**
   * Checks all configurations.
   * @returns the namespaces that have active configurations
   */
  sweep: (signal: AbortSignal) => Promise<Set<string>>
  metrics: Pick<RefillMetrics, 'swept'>
}

export interface SweepLoop extends RefillLoop {
  /** Namespaces with active configurations: those of the last sweep and those added since. */
  namespaces: () => ReadonlySet<string>
  /** Adds a namespace before a sweep has found it. */
  addNamespace: (namespaceId: string) => void
  /** Requests an earlier sweep, because the other loops may have missed changes. */
  request: () => void
}

/** The shortest time between two sweeps, when the second one is requested. */
const SWEEP_AGAIN_MS = 5_000

/**
 * Checks all configurations at intervals, and earlier on request. So it finds changes that the other loops miss.
 *
 * @param sweepMs the time from the start of one sweep to the start of the next
 */
export function sweepLoop({ sweep, metrics }: SweepLoopDeps, sweepMs: number): SweepLoop {
  let namespaces = new Set<string>()
  /** Namespaces added since the last sweep began. The sweep may not have seen them. */
  let addedSince = new Set<string>()
  let isRequested = true
  let sweptAt = -Infinity
  return {
    step: 'sweep',
    activity: new Activity('checking all refill configurations'),
    isDue() {
      const sinceMs = performance.now() - sweptAt
      return sinceMs >= (isRequested ? Math.min(SWEEP_AGAIN_MS, sweepMs) : sweepMs)
    },
    async work(signal) {
      const startedAt = performance.now()
      isRequested = false
      addedSince = new Set()
      try {
        const found = await sweep(signal)
        if (signal.aborted) return
        namespaces = new Set([...found, ...addedSince])
        sweptAt = startedAt
        metrics.swept((performance.now() - startedAt) / 1_000)
      } catch (err) {
        isRequested = true
        throw err
      }
    },
    namespaces: () => namespaces,
    addNamespace(namespaceId) {
      namespaces.add(namespaceId)
      addedSince.add(namespaceId)
    },
    request() {
      isRequested = true
    },
  }
}
