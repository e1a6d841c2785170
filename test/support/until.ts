import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Tries again until something is there.
 *
 * @param attempt gives false to be tried again
 * @throws Error when it is not there in time
 */
export async function until<T>(attempt: () => Promise<T | false>, timeoutMs = 30_000): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const result = await attempt()
    if (result !== false) return result
    if (performance.now() > deadline) throw new Error(`gave up waiting after ${timeoutMs} ms`)
    await sleep(20)
  }
}
