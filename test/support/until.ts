import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The first pause between attempts. Later pauses are longer, because attempts slow down the work that is waited for.
 */
const FIRST_MS = 10
const LONGEST_MS = 150

/**
 * Repeats an attempt until it succeeds.
 *
 * @param attempt returns false to be repeated
 * @throws Error when no attempt succeeds in time
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
