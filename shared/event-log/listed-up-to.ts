import type { Micros } from '../time/microsecond-clock.ts'
import { type EventLog, LOADER_GROUP } from './event-log.ts'

export interface ListedUpToOptions {
  /** Gives a time. Events that are not in the log yet were or will be accepted at that time or later. */
  lowestUnderWay: () => Micros | Promise<Micros>
  eventLog: Pick<EventLog, 'lowestUnread'>
}

/**
 * An answer is used again for this long. It stays true, and any number of followers then costs only one read of the
 * log.
 */
const SAME_MS = 100

/**
 * Returns a function for the time up to which the list of events is complete: no event that was accepted before that
 * time can still arrive.
 *
 * It first looks at the events that are on their way into the log, then at the events in the log, because events move
 * in that order.
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
