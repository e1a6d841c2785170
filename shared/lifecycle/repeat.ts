import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from './close-all.ts'

/**
 * Does something again and again until it is closed, each round after a pause; a round that fails is told and forgotten.
 *
 * @param onFailure is told why a round failed
 * @param firstAfterMs the pause before the first round
 */
export function repeat(
  name: string,
  everyMs: number,
  work: () => Promise<void>,
  onFailure: (err: unknown) => void,
  firstAfterMs = everyMs,
): Closeable {
  const stopping = new AbortController()
  const loop = async () => {
    const { signal } = stopping
    const pause = (ms: number) => sleep(ms, true, { signal }).catch(() => false)
    for (let goesOn = await pause(firstAfterMs); goesOn; goesOn = await pause(everyMs))
      await work().catch(onFailure)
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
