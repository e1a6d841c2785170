import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Measures the largest JavaScript memory of some work, and the longest time that it blocked the event loop. */
export async function whileMeasuring<T>(work: () => Promise<T>) {
  const used = () => {
    const { heapUsed, external } = process.memoryUsage()
    return (heapUsed + external) / 1e6
  }
  const before = used()
  let most = before
  const sampling = setInterval(() => (most = Math.max(most, used())), 20)
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const result = await work()
  delay.disable()
  clearInterval(sampling)
  return { result, heapMb: Math.max(most, used()) - before, stallMs: delay.max / 1e6 }
}
