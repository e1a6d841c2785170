import { setTimeout as sleep } from 'node:timers/promises'

/** The answers to a process's probes. */
export interface Probes {
  /**
   * Whether the process's own work goes on. It never asks another system, because a restart would not repair that
   * system.
   */
  isLive: () => boolean
  /** Whether the process can do its work now. */
  isReady: () => Promise<boolean>
}

/** Whether all checks succeed in time: a probe that hangs is of no use. */
export async function allAnswer(...checks: readonly (() => Promise<unknown>)[]): Promise<boolean> {
  const answered = new AbortController()
  const timeout = sleep(PROBE_MS, false, { signal: answered.signal }).catch(() => false)
  const answers = Promise.allSettled(checks.map((check) => check())).then((results) =>
    results.every((result) => result.status === 'fulfilled' && result.value !== false),
  )
  const ready = await Promise.race([answers, timeout])
  answered.abort()
  return ready
}

/** Probes wait a few seconds at most. */
const PROBE_MS = 2_000
