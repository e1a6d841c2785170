import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from './close-all.ts'

/**
 * Does something again and again until it is closed, each round after a pause; a round that fails is told and forgotten.
 *
 * @param onFailure is told why a round failed
 */
export function repeat(
  name: string,
  everyMs: number,
  work: () => Promise<void>,
  onFailure: (err: unknown) => void,
): Closeable {
  const stopping = new AbortController()
  const loop = async () => {
    const { signal } = stopping
    while (await sleep(everyMs, true, { signal }).catch(() => false)) await work().catch(onFailure)
  }
  const running = loop()
  return {
    name,
    close: () => {
      stopping.abort()
      return running
    },
  }
}
