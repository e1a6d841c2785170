import { Activity } from '../../shared/lifecycle/activity.ts'
import type { RefillLoop } from './refill-loop.ts'
import type { RefillMetrics } from './refill-metrics.ts'

export interface SweepLoopDeps {
  /** Goes through all configurations. @returns the namespaces that have any */
  sweep: (signal: AbortSignal) => Promise<Set<string>>
  metrics: Pick<RefillMetrics, 'swept'>
}

export interface SweepLoop extends RefillLoop {
  /** Those with active configurations, as the last sweep and requests since have shown. */
  namespaces: () => ReadonlySet<string>
  /** Adds a namespace before a sweep has found it. */
  addNamespace: (namespaceId: string) => void
  /** Asks for a sweep before the next one is due: something may have been missed. */
  request: () => void
}

/** The least time between two sweeps that were not due yet. */
const SWEEP_AGAIN_MS = 5_000

/**
 * Goes through all configurations now and then, and earlier when asked: whatever else is missed is found by this.
 *
 * @param sweepMs from the start of one sweep to that of the next
 */
export function sweepLoop({ sweep, metrics }: SweepLoopDeps, sweepMs: number): SweepLoop {
  let namespaces = new Set<string>()
  /** Since the last sweep began, which may not have seen them. */
  let addedSince = new Set<string>()
  let isRequested = true
  let sweptAt = -Infinity
  return {
    step: 'sweep',
    activity: new Activity('going through the refill configurations'),
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
