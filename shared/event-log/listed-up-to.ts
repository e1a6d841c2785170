import type { Micros } from '../time/microsecond-clock.ts'
import { LOADER_GROUP, type EventLog } from './event-log.ts'

export interface ListedUpToOptions {
  /** No event that is on its way into the log, or will be, was or will be accepted before this. */
  lowestUnderWay: () => Micros | Promise<Micros>
  eventLog: Pick<EventLog, 'lowestUnread'>
}

/** An answer is used again for so long: it stays true, and followers then cost one look at the log together. */
const SAME_MS = 100

/**
 * Tells up to when the list of events is complete: no event accepted before that is still to come.
 *
 * First what is on its way into the log, then what is in it: an event passes from the one to the other in that order.
 */
export function listedUpToOf({ lowestUnderWay, eventLog }: ListedUpToOptions): () => Promise<Micros> {
  const look = async (): Promise<Micros> => {
    const underWay = await lowestUnderWay()
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
