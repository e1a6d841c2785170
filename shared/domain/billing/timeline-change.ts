import { DomainError } from '../../errors/domain-error.ts'
import type { TimeRange } from '../time-range.ts'
import type { Entry } from './contract.ts'

/** The only way in which rate cards and contracts change. */
export interface TimelineChange<E extends Entry> {
  /** In Unix seconds. */
  effectiveAt: number
  /** Ids of entries that are in force then. */
  end: readonly string[]
  /** Entries that start then or later. */
  add: readonly E[]
}

/**
 * The timeline after a change. Entries are never edited: what was in force before the change stays the same.
 *
 * @throws DomainError unprocessable for an entry to end that is not in force then, or one to add that starts before
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

/** When an entry is in force; Infinity when open. */
export const rangeOf = ({ startsAt, endsAt }: Omit<Entry, 'id'>): TimeRange => ({
  startAt: startsAt,
  endAt: endsAt ?? Infinity,
})

/** Whether an entry is in force at a second. */
export const isOpenAt = ({ startsAt, endsAt }: Entry, second: number): boolean =>
  startsAt <= second && (endsAt === null || second < endsAt)

/** By start, then by id: the order of an invoice. */
export const byStart = (a: Entry, b: Entry): number =>
  a.startsAt - b.startsAt || (a.id < b.id ? -1 : Number(a.id > b.id))
