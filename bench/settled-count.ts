import { setTimeout as sleep } from 'node:timers/promises'

export interface SettledCountOptions {
  /** What was acknowledged: that many must be counted. */
  atLeast: number
  /** With what may have been under way when a load ended: more means that something counts twice. */
  atMost: number
  pauseMs: number
  timeoutMs: number
}

/**
 * Asks how many events are counted until no more are coming.
 *
 * @throws Error when they are not as many as they should be: then figures mean nothing
 */
export async function settledCount(
  count: () => Promise<number>,
  { atLeast, atMost, pauseMs, timeoutMs }: SettledCountOptions,
): Promise<number> {
  const deadline = performance.now() + timeoutMs
  let before = -1
  for (;;) {
    const counted = await count()
    if (counted > atMost)
      throw new Error(`at most ${atMost} events were sent, ${counted} are counted: some count twice`)
    if (counted >= atLeast && counted === before) return counted
    if (performance.now() > deadline)
      throw new Error(`${atLeast} events were acknowledged, ${counted} are counted`)
    before = counted
    await sleep(pauseMs)
  }
}
