import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from './close-all.ts'

/**
 * Repeats work until the result is closed, with a pause between two rounds. A failed round does not end the repetition.
 *
 * @param work gets a signal that aborts on close. A round that is under way then may still finish
 * @param onFailure gets the error of a failed round, and the signal. If the signal is aborted, the result was closed
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
