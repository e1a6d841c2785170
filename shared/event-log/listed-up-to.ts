import type { Micros } from '../time/microsecond-clock.ts'
import { type EventLog, LOADER_GROUP } from './event-log.ts'

export interface ListedUpToOptions {
  /** No event that is not in the log yet was or will be accepted before this. */
  lowestUnderWay: () => Micros | Promise<Micros>
  eventLog: Pick<EventLog, 'lowestUnread'>
}

/** An answer is used again for this long: it stays true, and followers together then cost one read of the log. */
const SAME_MS = 100

/**
 * Returns a function for the time up to which the list of events is complete: no event accepted before it is still to
 * come.
 *
 * It first reads what is on its way into the log, then what is in the log, because events move in that order.
 */
export function listedUpToOf({ lowestUnderWay, eventLog }: ListedUpToOptions): () => Promise<Micros> {
  const look = async (): Promise<Micros> => {
    const underWay = await lowestUnderWay()
    return Math.min(underWay, (await eventLog.lowestUnread(LOADER_GROUP)) ?? Infinity)
  }
  let last: { at: number; answer: Promise<Micros>; isDone: boolean } | undefined
  return () => {
    // A read that is under way is shared: over a long backlog it takes a while.
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
