import type { Micros } from '../time/microsecond-clock.ts'
import { type EventLog, LOADER_GROUP } from './event-log.ts'

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
  let last: { at: number; answer: Promise<Micros>; isDone: boolean } | undefined
  return () => {
    // While one is under way its answer is shared: over a long backlog a look takes a while.
    if (last === undefined || (last.isDone && performance.now() - last.at > SAME_MS)) {
      const answer = look()
      const asked = { at: performance.now(), answer, isDone: false }
      last = asked
      answer.then(
        () => {
          asked.isDone = true
        },
        () => {
          if (last === asked) last = undefined
        },
      )
    }
    return last.answer
  }
}
