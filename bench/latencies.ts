/** Statistics of the durations of many requests, in milliseconds. */
export interface Latencies {
  count: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

/** @param times in milliseconds, in any order */
export function summarise(times: readonly number[]): Latencies {
  const sorted = [...times].sort((a, b) => a - b)
  const quantile = (q: number) => sorted[Math.floor(sorted.length * q)] ?? NaN
  return { count: sorted.length, p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs: sorted.at(-1) ?? NaN }
}

/** Runs a function and returns its duration in milliseconds. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
