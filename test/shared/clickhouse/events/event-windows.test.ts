import { expect } from 'chai'
import fc from 'fast-check'
import { eventWindows, type RolledEvents } from '../../../../shared/clickhouse/events/event-windows.ts'
import { type UsageCover } from '../../../../shared/clickhouse/rollups/usage-cover.ts'
import { DAY_S } from '../../../../shared/domain/time-range.ts'

const SLOT_S = 300
/** Days before this have rollups by day, later ones by slot. */
const SLOTS_FROM = 40 * DAY_S
const OPEN_FROM = 44 * DAY_S + 7 * SLOT_S
const END = 45 * DAY_S

const second = fc.oneof(
  fc.integer({ min: 0, max: END - 1 }),
  // Many events in few slots and days, at their edges.
  fc
    .tuple(fc.constantFrom(0, 1, 2, 39, 40, 43, 44), fc.constantFrom(0, 1, 299, 300, 86_399))
    .map(([day, at]) => day * DAY_S + at),
)
const placeOf = (at: number): { startAt: number; endAt: number } => {
  const lengthS = at < SLOTS_FROM ? DAY_S : SLOT_S
  const startAt = at - (at % lengthS)
  return { startAt, endAt: startAt + lengthS }
}

const world = fc.record({
  /** Events in the rollups, as seconds. */
  events: fc.array(second, { maxLength: 60 }),
  /** Events that are not in the rollups yet; their slots or days are marked. */
  late: fc.array(fc.record({ at: second, marks: fc.constantFrom('slot', 'day') }), { maxLength: 10 }),
  /** Marks without an event. */
  marks: fc.array(fc.record({ at: second, marks: fc.constantFrom('slot', 'day') }), { maxLength: 5 }),
  cost: fc.constantFrom(1, 16_384, 1_000_000, 4_000_000),
  order: fc.constantFrom('oldest' as const, 'newest' as const),
  start: fc.option(second, { nil: 0 }),
  end: fc.option(second, { nil: END }),
  /** The page begins within this second, after some of its events. */
  begunIn: fc.option(second, { nil: undefined }),
  skipped: fc.nat({ max: 3 }),
  wanted: fc.constantFrom(2, 5, 20, 101),
})

describe('where a page of events is read', () => {
  it('has the first events of the list, as many as are wanted or as can be afforded, in at most three reads', () => {
    const outcomes = new Set<string>()
    fc.assert(
      fc.property(world, (drawn) => {
        const { order, wanted } = drawn
        const range = {
          startAt: Math.max(drawn.start, order === 'oldest' ? (drawn.begunIn ?? 0) : 0),
          endAt: Math.min(
            drawn.end,
            order === 'newest' && drawn.begunIn !== undefined ? drawn.begunIn + 1 : END,
          ),
        }
        fc.pre(range.startAt < range.endAt)
        const inOrder = (all: readonly number[]) =>
          all.toSorted((a, b) => (order === 'oldest' ? a - b : b - a))
        const all = inOrder([...drawn.events, ...drawn.late.map(({ at }) => at)])
        let skipped = 0
        const expected = all.filter(
          (at) =>
            at >= range.startAt && at < range.endAt && (at !== drawn.begunIn || skipped++ >= drawn.skipped),
        )
        const marked = (kind: string, lengthS: number) => [
          ...new Set(
            [...drawn.late, ...drawn.marks]
              .filter(({ marks }) => marks === kind)
              .map(({ at }) => at - (at % lengthS)),
          ),
        ]
        const { rolled, isCut } = rolledOf(drawn.events, range, order, wanted + 2, drawn.cost)
        const { reads, hasMore } = eventWindows(
          { range, begunIn: drawn.begunIn, order, wanted },
          {
            state: { slotS: SLOT_S, dirtySlots: marked('slot', SLOT_S), dirtyDays: marked('day', DAY_S) },
            openFrom: OPEN_FROM,
            rolled,
            isCut,
            rowsOfDays: new Map(),
          },
        )
        expect(reads.length).to.be.at.most(3)
        let found: number[] = []
        for (const read of reads) {
          const times = expected.map((at) => timesRead(read, at))
          expect(Math.max(0, ...times), 'an event is read twice').to.be.at.most(1)
          found = [...found, ...expected.filter((_, n) => times[n] === 1)]
          // Whatever was read so far is the beginning of the list, without a hole.
          expect(found).to.deep.equal(expected.slice(0, found.length))
          if (found.length >= wanted) break
        }
        if (found.length >= wanted) outcomes.add('full')
        else if (hasMore) {
          outcomes.add('shorter')
          expect(drawn.cost, 'a page that costs little is full').to.not.equal(1)
          expect(found.length, 'the next page begins after an event').to.be.at.least(1)
          expect(expected.length, 'there is a next page').to.be.greaterThan(found.length)
        } else {
          outcomes.add('whole')
          expect(found).to.deep.equal(expected)
        }
      }),
      { numRuns: 2_000 },
    )
    expect([...outcomes].sort()).to.deep.equal(['full', 'shorter', 'whole'])
  })

  it('is one slot of a busy day, then some slots, and then the rest of the day', () => {
    const day = { startAt: 10 * DAY_S, endAt: 11 * DAY_S, least: 864_000, cost: 864_000 }
    const { reads } = eventWindows(
      { range: { startAt: 0, endAt: END }, begunIn: undefined, order: 'newest', wanted: 101 },
      {
        state: { slotS: SLOT_S, dirtySlots: [], dirtyDays: [] },
        openFrom: END,
        rolled: [day],
        isCut: false,
        rowsOfDays: new Map(),
      },
    )
    const [first, second] = [day.endAt - SLOT_S, day.endAt - 8 * SLOT_S]
    expect(reads).to.deep.equal([
      { ranges: [], slots: [first], days: [] },
      { ranges: [{ startAt: second, endAt: first }], slots: [], days: [] },
      { ranges: [{ startAt: day.startAt, endAt: second }], slots: [], days: [] },
    ])
  })

  it('is a part of one day first, where whole days are marked and have no rollups yet', () => {
    const dirtyDays = Array.from({ length: 30 }, (_, nth) => nth * DAY_S)
    const { reads } = eventWindows(
      { range: { startAt: 0, endAt: END }, begunIn: undefined, order: 'newest', wanted: 101 },
      {
        state: { slotS: SLOT_S, dirtySlots: [], dirtyDays },
        openFrom: END,
        rolled: [],
        isCut: false,
        rowsOfDays: new Map(dirtyDays.map((day) => [day, 1_000_000])),
      },
    )
    expect(reads[0]).to.deep.equal({ ranges: [], slots: [30 * DAY_S - SLOT_S], days: [] })
  })

  it('is a day, a month and the rest while there are no rollups', () => {
    const { reads, hasMore } = eventWindows(
      { range: { startAt: 0, endAt: 400 * DAY_S }, begunIn: undefined, order: 'newest', wanted: 101 },
      {
        state: { slotS: SLOT_S, dirtySlots: [], dirtyDays: [] },
        openFrom: 0,
        rolled: [],
        isCut: false,
        rowsOfDays: new Map(),
      },
    )
    expect(reads.map(({ days, ranges }) => [days, ranges])).to.deep.equal([
      [[399 * DAY_S], []],
      [[], [{ startAt: 369 * DAY_S, endAt: 399 * DAY_S }]],
      [[], [{ startAt: 0, endAt: 369 * DAY_S }]],
    ])
    expect(hasMore).to.equal(false)
  })
})

/** The rollups of events in a range, at most so many. */
function rolledOf(
  events: readonly number[],
  range: { startAt: number; endAt: number },
  order: 'oldest' | 'newest',
  limit: number,
  cost: number,
): { rolled: RolledEvents[]; isCut: boolean } {
  const rolled = new Map<number, RolledEvents>()
  for (const at of events) {
    const place = placeOf(at)
    if (at >= OPEN_FROM || place.endAt <= range.startAt || place.startAt >= range.endAt) continue
    const row = rolled.get(place.startAt) ?? { ...place, least: 0, cost }
    rolled.set(place.startAt, { ...row, least: row.least + 1 })
  }
  const sorted = [...rolled.values()].sort((a, b) => a.startAt - b.startAt)
  if (order === 'newest') sorted.reverse()
  return { rolled: sorted.slice(0, limit), isCut: sorted.length >= limit }
}

/** How often an event of this second is read. */
function timesRead({ ranges, slots, days }: UsageCover['events'], at: number): number {
  return (
    ranges.filter(({ startAt, endAt }) => at >= startAt && at < endAt).length +
    slots.filter((slot) => at >= slot && at < slot + SLOT_S).length +
    days.filter((day) => at >= day && at < day + DAY_S).length
  )
}
