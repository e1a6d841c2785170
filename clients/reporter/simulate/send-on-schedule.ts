import { setTimeout as sleep } from 'node:timers/promises'
import { InFlight } from '../in-flight.ts'

export interface Schedule {
  /** Events a second; undefined means as fast as possible. */
  rate: number | undefined
  secondsMax: number
  eventsMax: number
  batchSize: number
  connectionsMax: number
}

/**
 * Sends batches when they are due, even when earlier batches are not answered yet (an open loop). So a slow answer does
 * not slow the schedule down. Batches then wait for a free connection, and that delay is measured. If each batch were
 * sent only after the last answer, a slow service would get fewer requests and look better than it is.
 *
 * @param send gets the number of events to send and the time when they were due (`performance.now()` milliseconds); the
 *   calls begin one after the other
 * @param onBehind called with the delay of each batch, in milliseconds
 * @param signal ends the schedule; requests that were sent are still waited for
 * @returns when everything was answered
 * @throws the first failure of send
 */
export async function sendOnSchedule(
  { rate, secondsMax, eventsMax, batchSize, connectionsMax }: Schedule,
  send: (events: number, dueAt: number) => Promise<void>,
  onBehind: (ms: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const inFlight = new InFlight(connectionsMax)
  const startedAt = performance.now()
  const endsAt = startedAt + secondsMax * 1_000
  try {
    for (let sent = 0; sent < eventsMax && !signal.aborted;) {
      const dueAt = rate === undefined ? performance.now() : startedAt + (sent / rate) * 1_000
      if (dueAt >= endsAt || performance.now() >= endsAt) break
      await sleepUntil(dueAt, signal)
      const events = Math.min(batchSize, eventsMax - sent)
      await inFlight.add(() => {
        if (rate !== undefined) onBehind(performance.now() - dueAt)
        return send(events, rate === undefined ? performance.now() : dueAt)
      })
      sent += events
    }
  } finally {
    await inFlight.settle()
  }
}

async function sleepUntil(at: number, signal: AbortSignal): Promise<void> {
  const ms = at - performance.now()
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined) // the loop checks the signal
}
