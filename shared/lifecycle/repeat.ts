import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from './close-all.ts'

/**
 * Does something again and again until it is closed, each round after a pause; a round that fails is told and
 * forgotten.
 *
 * @param work is told by its signal when it is closed; it may go on to its end
 * @param onFailure is told why a round failed, and by the signal whether it was closed by then
 * @param firstAfterMs the pause before the first round
 */
export function repeat(
  name: string,
  everyMs: number,
  work: (signal: AbortSignal) => Promise<void>,
  onFailure: (err: unknown, signal: AbortSignal) => void,
  firstAfterMs = everyMs,
): Closeable {
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = async () => {
    const pause = (ms: number) => sleep(ms, true, { signal }).catch(() => false)
    for (let goesOn = await pause(firstAfterMs); goesOn; goesOn = await pause(everyMs))
      await work(signal).catch((err: unknown) => {
        onFailure(err, signal)
      })
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
