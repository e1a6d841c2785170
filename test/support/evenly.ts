import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Calls in even distances while the load is on, without waiting for the call before.
 *
 * @returns when the load is off and every call has ended
 */
export async function evenly(
  everyMs: number,
  isOn: () => boolean,
  call: (n: number) => Promise<void>,
): Promise<void> {
  const open = new Set<Promise<void>>()
  const startedAt = performance.now()
  for (let n = 0; isOn(); n++) {
    await sleep(startedAt + n * everyMs - performance.now())
    const one = call(n).finally(() => open.delete(one))
    open.add(one)
  }
  await Promise.all(open)
}
