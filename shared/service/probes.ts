import { setTimeout as sleep } from 'node:timers/promises'

/** The answers to a process's probes. */
export interface Probes {
  /**
   * Whether the process's own work makes progress. This probe never asks another system, because a restart of this
   * process would not repair that system.
   */
  isLive: () => boolean
  /** Whether the process can do its work now. */
  isReady: () => Promise<boolean>
}

/** Whether all checks succeed in time. The time is limited, because a probe that hangs is of no use. */
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

/** Clients of probes wait a few seconds at most, so the answer must be given earlier. */
const PROBE_MS = 2_000
