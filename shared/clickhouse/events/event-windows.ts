import type { ListOrder } from '../../domain/page.ts'
import { DAY_S, intersect, KEY_BUCKET_S, keyBucketOf, type TimeRange } from '../../domain/time-range.ts'
import { type RollupState, type UsageCover } from '../rollups/usage-cover.ts'

/** A day or a slot that has events of a list, by the rollups. */
export interface RolledEvents extends TimeRange {
  /** At least this many events of the list are in it; at least 1. */
  least: number
  /** The number of rows that reading it goes through, about. */
  cost: number
}

/** What a page asks for. */
export interface EventPage {
  /** The time in which events of the page can be; not empty. */
  range: TimeRange
  /** The second of the event that the page begins after. Events of this second may be on an earlier page. */
  begunIn: number | undefined
  order: ListOrder
  /** The number of events that are looked for. */
  wanted: number
}

/** What rollups tell of the time of a page. */
export interface RolledPage {
  state: Pick<RollupState, 'slotS' | 'dirtySlots' | 'dirtyDays'>
  /** The second from which on rollups tell nothing. */
  openFrom: number
  /** In the order of the list. */
  rolled: readonly RolledEvents[]
  /** Whether there may be more days or slots behind the last one of `rolled`. */
  isCut: boolean
  /** The number of rows of marked days, by their start; only of those for which it is known. */
  rowsOfDays: ReadonlyMap<number, number>
}

/** Where the events of a page are read. */
interface EventWindows {
  /** At most three reads, in the order of the list. Each is made only if those before it did not fill the page. */
  reads: UsageCover['events'][]
  /** Whether there are events behind all of the reads. */
  hasMore: boolean
}

/** A part of the time of a page. */
interface Part extends TimeRange {
  /** At least this many events of the page are in it. */
  least: number
  /** About how many events of the page are in it; undefined where rollups tell nothing. */
  expected: number | undefined
  cost: number
}

/** The number of rows that the reads of a page may go through. A page without events may cost more. */
const ROWS_MAX = 3_000_000
/** The assumed cost of a marked day, if it is not known. */
const ROWS_OF_MARKED_DAY = 100_000
/** The cost of one slot of one account: its rows are adjacent, at the edge of two granules of 8,192 rows. */
export const ROWS_OF_SLOT = 16_384

/** The first read ends where this many times the wanted events are expected. */
const FIRST_TIMES = 2
/** The first two reads end where this many times the events of the first one are expected. */
const SECOND_TIMES = 8
/** The first and the second read end after this much time of which rollups tell nothing. */
const READ_S = [DAY_S, 30 * DAY_S]

/**
 * Decides where the events of a page are read: in the days and slots that have events by the rollups, until they
 * certainly fill the page, and in all marked and open time before their end.
 *
 * If that costs too much, the page ends earlier. It still has an event, so that a next page can begin after it.
 */
export function eventWindows(page: EventPage, rollups: RolledPage): EventWindows {
  const parts = partsOf(page, rollups)
  const lastCertain = parts.findLastIndex(({ least }) => least > 0)
  const taken: Part[] = []
  let [certain, cost] = [0, 0]
  for (const part of parts) {
    if (certain >= page.wanted) break
    const isMoreCertain = rollups.isCut || taken.length <= lastCertain
    if (certain > 0 && cost + part.cost > ROWS_MAX && isMoreCertain) break
    taken.push(part)
    certain += part.least
    cost += part.cost
  }
  return {
    reads: readsOf(taken, page, rollups.state.slotS),
    hasMore: taken.length < parts.length || rollups.isCut,
  }
}

/** The time of a page, in the order of the list. Time that has no events for certain is left out. */
function partsOf({ range, begunIn, order }: EventPage, rollups: RolledPage): Part[] {
  const { state, openFrom, rolled, isCut, rowsOfDays } = rollups
  const spans = joinNested([
    ...state.dirtyDays.map((day) => markedSpan(day, DAY_S, rowsOfDays.get(day) ?? ROWS_OF_MARKED_DAY)),
    ...state.dirtySlots.map((slot) => markedSpan(slot, state.slotS, ROWS_OF_SLOT)),
    ...rolled,
  ])
  const known = isCut ? upTo(range, rolled.at(-1), order) : range
  const closed = { startAt: known.startAt, endAt: Math.min(known.endAt, openFrom) }
  const parts = spans.flatMap((span): Part[] => {
    const inside = intersect(span, closed)
    if (inside === undefined) return []
    const isWhole = lengthOf(inside) === lengthOf(span) && !isWithin(begunIn, span)
    // A marked day without rollups may have as many events as it has rows.
    const part: Part = { ...span, least: isWhole ? span.least : 0, expected: span.least || span.cost }
    return [piece(part, inside)]
  })
  const open = intersect(known, { startAt: openFrom, endAt: Infinity })
  if (open !== undefined) parts.push({ ...open, least: 0, expected: undefined, cost: 0 })
  return order === 'oldest' ? parts : parts.reverse()
}

const markedSpan = (startAt: number, lengthS: number, cost: number): RolledEvents => ({
  startAt,
  endAt: startAt + lengthS,
  least: 0,
  cost,
})

/** Sorts days and slots by time, and joins those that are the same or in each other. */
function joinNested(spans: readonly RolledEvents[]): RolledEvents[] {
  const joined: RolledEvents[] = []
  for (const span of spans.toSorted((a, b) => a.startAt - b.startAt || b.endAt - a.endAt)) {
    const outer = joined.at(-1)
    if (outer === undefined || span.startAt >= outer.endAt) joined.push({ ...span })
    else {
      outer.least += span.least
      outer.cost = Math.max(outer.cost, span.cost)
    }
  }
  return joined
}

/** The part of a range that the list has up to the end of its last known day or slot. */
function upTo(range: TimeRange, last: TimeRange | undefined, order: ListOrder): TimeRange {
  if (last === undefined) return range
  return order === 'oldest'
    ? { startAt: range.startAt, endAt: Math.min(range.endAt, last.endAt) }
    : { startAt: Math.max(range.startAt, last.startAt), endAt: range.endAt }
}

/** Divides the time of a page into reads. The first ones are small where few events fill the page. */
function readsOf(
  parts: readonly Part[],
  { order, wanted }: EventPage,
  slotS: number,
): UsageCover['events'][] {
  const reads: TimeRange[][] = [[]]
  let expected = 0
  /** The number of expected events at which the last read ends. */
  let aim = FIRST_TIMES * wanted
  const beginRead = () => {
    aim = reads.length === 1 ? SECOND_TIMES * Math.max(aim, expected) : Infinity
    reads.push([])
  }
  for (const part of parts)
    for (let rest: Part | undefined = part; rest !== undefined;) {
      if (expected >= aim) beginRead()
      const { head, tail } = divide(rest, lengthToRead(rest, aim - expected, reads.length), order)
      reads.at(-1)?.push(head)
      expected += head.expected ?? 0
      if (tail !== undefined) beginRead()
      rest = tail
    }
  return reads.filter((read) => read.length > 0).map((read) => placesOf(read, slotS))
}

/** How much time of a part belongs to the nth read, if so many events are still expected of that read. */
const lengthToRead = (part: Part, events: number, nth: number): number =>
  part.expected === undefined
    ? (READ_S[nth - 1] ?? Infinity)
    : (lengthOf(part) * events) / Math.max(1, part.expected)

/** Divides a part after about so many seconds, at the edge of a key bucket. */
function divide(part: Part, afterS: number, order: ListOrder): { head: Part; tail: Part | undefined } {
  const { startAt, endAt } = part
  if (afterS >= lengthOf(part)) return { head: part, tail: undefined }
  const at = keyBucketOf(order === 'oldest' ? startAt + afterS + KEY_BUCKET_S - 1 : endAt - afterS)
  if (at <= startAt || at >= endAt) return { head: part, tail: undefined }
  const [earlier, later] = [piece(part, { startAt, endAt: at }), piece(part, { startAt: at, endAt })]
  return order === 'oldest' ? { head: earlier, tail: later } : { head: later, tail: earlier }
}

/** A piece of a part, with its share of the expected events. */
const piece = (part: Part, range: TimeRange): Part => ({
  ...part,
  ...range,
  expected: part.expected && (part.expected * lengthOf(range)) / lengthOf(part),
})

/** Lists whole slots and whole days by their start, because they take less room in a query than other time. */
function placesOf(read: readonly TimeRange[], slotS: number): UsageCover['events'] {
  const places: UsageCover['events'] = { ranges: [], slots: [], days: [] }
  for (const { startAt, endAt } of read) {
    const lengthS = endAt - startAt
    if (lengthS === slotS && startAt % slotS === 0) places.slots.push(startAt)
    else if (lengthS === DAY_S && startAt % DAY_S === 0) places.days.push(startAt)
    else places.ranges.push({ startAt, endAt })
  }
  return places
}

const lengthOf = ({ startAt, endAt }: TimeRange): number => endAt - startAt

const isWithin = (second: number | undefined, { startAt, endAt }: TimeRange): boolean =>
  second !== undefined && second >= startAt && second < endAt
