const QUIET_MS = 50
const BURST_MS = 500

/**
 * Registers one promise for each burst of events with a platform that stops the process after its answer. A burst ends
 * after 50 ms without an event, or after 500 ms.
 */
export function bursts(
  waitUntil: (promise: Promise<unknown>) => void,
  flush: () => Promise<unknown>,
): () => void {
  let burst: { startedAt: number; timer: NodeJS.Timeout; end: () => void } | undefined
  const endBurst = () => {
    const { end } = burst ?? {}
    burst = undefined
    end?.()
  }
  return () => {
    const now = performance.now()
    if (burst === undefined) {
      let resolve: (() => void) | undefined
      const ended = new Promise<void>((done) => (resolve = done))
      waitUntil(ended.then(flush))
      const end = () => {
        resolve?.()
      }
      burst = { startedAt: now, timer: setTimeout(endBurst, QUIET_MS), end }
      return
    }
    clearTimeout(burst.timer)
    const leftMs = Math.max(Math.min(QUIET_MS, burst.startedAt + BURST_MS - now), 0)
    burst.timer = setTimeout(endBurst, leftMs)
  }
}
