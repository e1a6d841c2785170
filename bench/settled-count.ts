import { setTimeout as sleep } from 'node:timers/promises'

export interface SettledCountOptions {
  /** What was acknowledged: no less must be counted, and no more. */
  expected: number
  pauseMs: number
  /** How long the count may stand still. */
  timeoutMs: number
}

/**
 * Asks how many events are counted until no more are coming.
 *
 * @throws Error when they are not as many as they should be: then figures mean nothing
 */
export async function settledCount(
  count: () => Promise<number>,
  { expected, pauseMs, timeoutMs }: SettledCountOptions,
): Promise<number> {
  let deadline = performance.now() + timeoutMs
  let before = -1
  for (;;) {
    const counted = await count()
    if (counted > expected)
      throw new Error(`${expected} events were acknowledged, ${counted} are counted: some count twice`)
    if (counted === expected && counted === before) return counted
    if (counted > before) deadline = performance.now() + timeoutMs
    if (performance.now() > deadline)
      throw new Error(`${expected} events were acknowledged, ${counted} are counted`)
    before = counted
    await sleep(pauseMs)
  }
}
