import { expect } from 'chai'
import fc from 'fast-check'
import {
  coverUsage,
  coverUsageCutAt,
  DAY_S,
  dayOf,
  coveringRanges,
  enumerateShortRanges,
  SLOTS_READ_FOR_DAYS,
  type RollupState,
  type UsageCover,
} from '../../../shared/domain/usage-cover.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'

const NOW = Date.UTC(2026, 10, 22, 13, 37, 11) / 1_000
const YEAR_S = 365 * DAY_S
/** The key buckets of events. */
const KEY_BUCKET_S = 300
const countKeyBuckets = ({ startAt, endAt }: TimeRange): number =>
  Math.ceil(endAt / KEY_BUCKET_S) - Math.floor(startAt / KEY_BUCKET_S)

const state = fc.constantFrom(5, 60, 300).chain((slotS) => {
  /** Seconds ago: minutes, days, up to two months, and years. */
  const age = fc.oneof(
    fc.integer({ min: -600, max: 7_200 }),
    fc.integer({ min: 0, max: 4 * DAY_S }),
    fc.integer({ min: 30 * DAY_S, max: 36 * DAY_S }),
    fc.integer({ min: 0, max: 60 * DAY_S }),
    fc.integer({ min: 0, max: 3 * YEAR_S }),
  )
  /** Near the edge of a slot, or of a day. */
  const edge = fc
    .tuple(age, fc.constantFrom(slotS, DAY_S), fc.integer({ min: -1, max: 1 }))
    .map(([ago, step, by]) => {
      const at = NOW - ago
      return at - (at % step) + by
    })
  const second = fc.oneof(
    age.map((ago) => NOW - ago),
    edge,
  )
  const slot = second.map((at) => at - (at % slotS))
  return fc.record({
    state: fc.record<RollupState>({
      epoch: fc.constant(1),
      now: fc.constant(NOW),
      slotS: fc.constant(slotS),
      closedThrough: fc.oneof(
        fc.constant(NOW - (NOW % slotS) - slotS),
        slot,
        second.map(dayOf),
        fc.constant(0),
      ),
      dirtySlots: fc.uniqueArray(slot, { maxLength: 12 }),
      dirtyDays: fc.uniqueArray(second.map(dayOf), { maxLength: 6 }),
    }),
    range: fc
      .tuple(second, second)
      .map(([a, b]): TimeRange => ({ startAt: Math.min(a, b), endAt: Math.max(a, b) })),
    more: fc.array(second, { maxLength: 20 }),
  })
})

/** Where a second is read: every place that has it. */
function placesOf({ days, slots, raw }: UsageCover, slotS: number, at: number): string[] {
  const [day, slot] = [dayOf(at), at - (at % slotS)]
  const isIn = ({ startAt, endAt }: TimeRange, second: number) => second >= startAt && second < endAt
  return [
    ...(days !== undefined && isIn(days, day) && !days.except.includes(day) ? ['days'] : []),
    ...(slots !== undefined && isIn(slots, slot) && slots.days.includes(day) && !slots.except.includes(slot)
      ? ['slots']
      : []),
    ...raw.ranges.filter((range) => isIn(range, at)).map(() => 'raw'),
    ...raw.slots.filter((one) => one === slot).map(() => 'raw'),
    ...raw.days.filter((one) => one === day).map(() => 'raw'),
  ]
}

describe('the cover of a range', () => {
  /** Seconds beside which something begins or ends; between two of them all is alike. */
  const edgesOf = (
    { days, slots, raw }: UsageCover,
    { slotS, closedThrough, dirtySlots, dirtyDays }: RollupState,
  ) =>
    [
      closedThrough,
      ...[days, slots, ...raw.ranges].flatMap((range) =>
        range === undefined ? [] : [range.startAt, range.endAt],
      ),
      ...[...dirtySlots, ...raw.slots, ...(slots?.except ?? [])].flatMap((slot) => [slot, slot + slotS]),
      ...[...dirtyDays, ...raw.days, ...(days?.except ?? []), ...(slots?.days ?? [])].flatMap((day) => [
        day,
        day + slotS,
        day + DAY_S,
      ]),
    ].flatMap((at) => [at - 1, at, at + 1])

  it('has every second of the range in exactly one place, and no other', () => {
    fc.assert(
      fc.property(state, ({ state: known, range, more }) => {
        const cover = coverUsage(range, known)
        const seconds = [
          ...edgesOf(cover, known),
          ...more,
          range.startAt - 1,
          range.startAt,
          range.endAt - 1,
          range.endAt,
        ]
        for (const at of seconds) {
          const places = placesOf(cover, known.slotS, at)
          expect(places.length, `${at}: ${places.join()}`).to.equal(
            at >= range.startAt && at < range.endAt ? 1 : 0,
          )
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes from rollups only what is whole, closed, clean and still kept', () => {
    fc.assert(
      fc.property(state, ({ state: known, range, more }) => {
        const cover = coverUsage(range, known)
        const { slotS, closedThrough, dirtySlots, dirtyDays, now } = known
        for (const at of [...edgesOf(cover, known), ...more]) {
          const [place] = placesOf(cover, slotS, at)
          if (place !== 'days' && place !== 'slots') continue
          const [startAt, length] = place === 'days' ? [dayOf(at), DAY_S] : [at - (at % slotS), slotS]
          const endAt = startAt + length
          const shown = `${place} at ${at}`
          expect(startAt, shown).to.be.at.least(range.startAt)
          expect(endAt, shown).to.be.at.most(Math.min(range.endAt, closedThrough))
          expect(dirtyDays.includes(dayOf(at)), shown).to.equal(false)
          expect(
            dirtySlots.some((slot) => slot >= startAt && slot < endAt),
            shown,
          ).to.equal(false)
          if (place === 'slots')
            expect(dayOf(at), shown).to.be.at.least(dayOf(now) - SLOTS_READ_FOR_DAYS * DAY_S)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes whole closed clean days from days, so that long ranges are read fast', () => {
    fc.assert(
      fc.property(state, ({ state: known, range, more }) => {
        const cover = coverUsage(range, known)
        const { closedThrough, dirtySlots, dirtyDays } = known
        for (const at of [...edgesOf(cover, known), ...more]) {
          const day = dayOf(at)
          const isWhole = day >= range.startAt && day + DAY_S <= Math.min(range.endAt, closedThrough)
          const isClean = !dirtyDays.includes(day) && !dirtySlots.some((slot) => dayOf(slot) === day)
          if (isWhole && isClean) expect(placesOf(cover, known.slotS, at), String(at)).to.deep.equal(['days'])
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('is looked up within ranges that cover all of what is read raw, and are no more than asked', () => {
    fc.assert(
      fc.property(state, fc.integer({ min: 1, max: 8 }), ({ state: known, range }, atMost) => {
        const { raw } = coverUsage(range, known)
        const covering = coveringRanges(raw, known.slotS, atMost)
        expect(covering.length).to.be.at.most(atMost)
        const pieces = [
          ...raw.ranges,
          ...raw.slots.map((slot) => ({ startAt: slot, endAt: slot + known.slotS })),
          ...raw.days.map((day) => ({ startAt: day, endAt: day + DAY_S })),
        ]
        for (const { startAt, endAt } of pieces)
          expect(
            covering.some((one) => one.startAt <= startAt && endAt <= one.endAt),
            JSON.stringify({ startAt, endAt, covering }),
          ).to.equal(true)
        expect(covering.length === 0).to.equal(pieces.length === 0)
        for (const [n, one] of covering.entries()) {
          expect(one.startAt).to.be.lessThan(one.endAt)
          // Nothing is asked for that lies outside of all pieces.
          expect(pieces.some(({ startAt }) => startAt === one.startAt)).to.equal(true)
          expect(pieces.some(({ endAt }) => endAt === one.endAt)).to.equal(true)
          const next = covering[n + 1]
          if (next !== undefined) expect(next.startAt).to.be.greaterThan(one.endAt)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('is looked up bucket by bucket where it is short, as far as buckets are not too many', () => {
    fc.assert(
      fc.property(state, fc.integer({ min: 0, max: 40 }), ({ state: known, range }, bucketsMax) => {
        const covering = coveringRanges(coverUsage(range, known).raw, known.slotS, 16)
        const { buckets, ranges } = enumerateShortRanges(covering, bucketsMax)
        expect(buckets.length).to.be.at.most(bucketsMax)
        expect(new Set(buckets).size).to.equal(buckets.length)
        for (const bucket of buckets) {
          const reaches = ({ startAt, endAt }: TimeRange) => startAt < bucket + KEY_BUCKET_S && bucket < endAt
          expect(bucket % KEY_BUCKET_S).to.equal(0)
          expect(covering.some(reaches), String(bucket)).to.equal(true)
        }
        for (const one of covering) {
          if (ranges.some(({ startAt, endAt }) => startAt === one.startAt && endAt === one.endAt)) continue
          for (let at = one.startAt - (one.startAt % KEY_BUCKET_S); at < one.endAt; at += KEY_BUCKET_S)
            expect(buckets, JSON.stringify(one)).to.include(at)
        }
        const named = new Set(covering).size - ranges.length
        expect(named > 0).to.equal(
          covering.length > 1 && Math.min(...covering.map(countKeyBuckets)) <= bucketsMax,
        )
      }),
      { numRuns: 2_000 },
    )
  })

  it('reads a slot once that several cuts lie in, or that is late as well', () => {
    fc.assert(
      fc.property(
        state,
        fc.array(fc.nat(900), { minLength: 1, maxLength: 8 }),
        ({ state: drawn, range, more }, near) => {
          const cuts = [...more, ...near.map((by) => range.startAt + by)]
          const { raw, slots, days } = coverUsageCutAt(range, cuts, drawn)
          for (const places of [raw.slots, raw.days, slots?.except ?? [], days?.except ?? []])
            expect(places).to.deep.equal([...new Set(places)])
        },
      ),
    )
  })
})
