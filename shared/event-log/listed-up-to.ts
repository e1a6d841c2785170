import type { Micros } from '../time/microsecond-clock.ts'
import { type EventLog, LOADER_GROUP } from './event-log.ts'

export interface ListedUpToOptions {
  /** Returns a time. Events that are not in the log yet were or will be accepted at that time or later. */
  lowestUnderWay: () => Micros | Promise<Micros>
  eventLog: Pick<EventLog, 'lowestUnread'>
}

/**
 * How long an answer is used again. An answer stays true, and so any number of followers costs only one read of the log
 * in this time.
 */
const SAME_MS = 100

/**
 * Returns a function for the time up to which the list of events is complete: all events that were accepted before that
 * time are stored.
 *
 * The function first asks about the events that are not in the log yet, then about the events in the log, because
 * events move in that order.
 */
export function listedUpToOf({ lowestUnderWay, eventLog }: ListedUpToOptions): () => Promise<Micros> {
  const look = async (): Promise<Micros> => {
    const underWay = await lowestUnderWay()
    return Math.min(underWay, (await eventLog.lowestUnread(LOADER_GROUP)) ?? Infinity)
  }
  let last: { at: number; answer: Promise<Micros>; isDone: boolean } | undefined
  return () => {
    // Callers share a read that is under way, because a read of a long backlog takes some time.
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
