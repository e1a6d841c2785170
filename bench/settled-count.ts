import { setTimeout as sleep } from 'node:timers/promises'

export interface SettledCountOptions {
  /** The number of acknowledged events: exactly these must be counted. */
  expected: number
  pauseMs: number
  /** The longest time without a growth of the count. */
  timeoutMs: number
}

/**
 * Reads the number of counted events until it no longer grows.
 *
 * @throws Error when the number is not the expected one, because then figures mean nothing
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
