import { LOADER_GROUP, type EventLog } from '../../shared/event-log/event-log.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'
import type { Acceptance } from '../gateway/acceptance.ts'

export interface ListedUpToOptions {
  acceptance: Acceptance
  eventLog: Pick<EventLog, 'lowestUnread'>
  clock: Clock
  /** No other process reports into this log. */
  alone: boolean
  /** How long an append of another process may be under way. */
  settleMs: number
}

/** An answer is used again for so long: it stays true, and followers then cost one look at the log together. */
const SAME_MS = 100

/**
 * Tells up to when the list of events is complete: no event accepted before that is still to come.
 *
 * First what is on its way into the log, then what is in it: an event passes from the one to the other in that order.
 */
export function listedUpToOf(options: ListedUpToOptions): () => Promise<Micros> {
  const { acceptance, eventLog, clock, alone, settleMs } = options
  const look = async (): Promise<Micros> => {
    const underWayElsewhere = alone ? Infinity : clock() - settleMs * 1_000
    const underWay = Math.min(acceptance.lowest(), underWayElsewhere)
    return Math.min(underWay, (await eventLog.lowestUnread(LOADER_GROUP)) ?? Infinity)
  }
  let last: { at: number; answer: Promise<Micros> } | undefined
  return () => {
    if (last === undefined || performance.now() - last.at > SAME_MS) {
      const answer = look()
      const asked = { at: performance.now(), answer }
      last = asked
      answer.catch(() => {
        if (last === asked) last = undefined
      })
    }
    return last.answer
  }
}
