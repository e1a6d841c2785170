import { type ProbeOptions, probeVisibility } from './probe-visibility.ts'
import type { SimulationStats } from './simulation-stats.ts'

const PRINT_EVERY_MS = 1_000

/**
 * Runs the work and, at the same time, probes. It prints a line every second.
 *
 * @returns how long the work took, in milliseconds
 */
export async function whileProbing(
  probe: ProbeOptions,
  stats: SimulationStats,
  print: (line: string) => void,
  work: () => Promise<void>,
): Promise<number> {
  const ended = new AbortController()
  const signal = AbortSignal.any([probe.signal, ended.signal])
  const probing =
    probe.everyMs === 0
      ? Promise.resolve()
      : probeVisibility({ ...probe, signal }).catch((err: unknown) => {
          if (!signal.aborted) throw err
        })
  const timer = setInterval(() => {
    print(stats.nextLine())
  }, PRINT_EVERY_MS)
  const startedAt = performance.now()
  try {
    // Wait for both, so that the failure of a probe is noticed before the work ends.
    let ms = 0
    const working = work().finally(() => {
      ms = performance.now() - startedAt
      ended.abort()
    })
    await Promise.all([working, probing])
    return ms
  } finally {
    clearInterval(timer)
  }
}
