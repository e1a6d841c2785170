import { DomainError } from '../../errors/domain-error.ts'
import type { TimeRange } from '../time-range.ts'
import type { Entry } from './contract.ts'

/** A change of a timeline. The timelines of rate cards and contracts change only in this way. */
export interface TimelineChange<E extends Entry> {
  /** In Unix seconds. */
  effectiveAt: number
  /** Ids of the entries to end. They must be in force at `effectiveAt`. */
  end: readonly string[]
  /** New entries, which must start at `effectiveAt` or later. */
  add: readonly E[]
}

/**
 * The timeline after a change. Entries are never edited, so the terms in force before `effectiveAt` stay the same.
 *
 * @throws DomainError unprocessable when an entry to end is not in force at `effectiveAt`, or an entry to add starts
 *   before it
 */
export function applyChange<E extends Entry>(
  entries: readonly E[],
  { effectiveAt, end, add }: TimelineChange<E>,
): E[] {
  const ending = new Set(end)
  for (const id of ending)
    if (!entries.some((entry) => entry.id === id && isOpenAt(entry, effectiveAt)))
      throw new DomainError('unprocessable', `end: ${id} is not in force at the time of the change`)
  for (const { id, startsAt } of add)
    if (startsAt < effectiveAt) throw new DomainError('unprocessable', `add: ${id} starts before the change`)
  const kept = entries.map((entry) => (ending.has(entry.id) ? { ...entry, endsAt: effectiveAt } : entry))
  return [...kept, ...add]
}

/** The range in which an entry is in force; it ends at Infinity when the entry is open. */
export const rangeOf = ({ startsAt, endsAt }: Omit<Entry, 'id'>): TimeRange => ({
  startAt: startsAt,
  endAt: endsAt ?? Infinity,
})

/** Whether an entry is in force at a second. */
export const isOpenAt = ({ startsAt, endsAt }: Entry, second: number): boolean =>
  startsAt <= second && (endsAt === null || second < endsAt)

/** Sorts by start, then by id: the order of an invoice. */
export const byStart = (a: Entry, b: Entry): number =>
  a.startsAt - b.startsAt || (a.id < b.id ? -1 : Number(a.id > b.id))
