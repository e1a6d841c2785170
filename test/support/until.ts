import { setTimeout as sleep } from 'node:timers/promises'

/** Between attempts, at first; what takes longer is asked less often, as asking takes from what is waited for. */
const FIRST_MS = 10
const LONGEST_MS = 150

/**
 * Tries again until something is there.
 *
 * @param attempt gives false to be tried again
 * @throws Error when it is not there in time
 */
export async function until<T>(attempt: () => Promise<T | false>, timeoutMs = 30_000): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (let pauseMs = FIRST_MS; ; pauseMs = Math.min(pauseMs * 1.3, LONGEST_MS)) {
    const result = await attempt()
    if (result !== false) return result
    if (performance.now() > deadline) throw new Error(`gave up waiting after ${timeoutMs} ms`)
    await sleep(pauseMs)
  }
}
