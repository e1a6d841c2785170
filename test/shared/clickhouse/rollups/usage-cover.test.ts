import { expect } from 'chai'
import fc from 'fast-check'
import {
  coverUsage,
  dayOf,
  type RollupState,
  SLOTS_READ_FOR_DAYS,
  type UsageCover,
} from '../../../../shared/clickhouse/rollups/usage-cover.ts'
import { monthAfter, monthOf } from '../../../../shared/domain/month.ts'
import { DAY_S, type TimeRange } from '../../../../shared/domain/time-range.ts'

const NOW = Date.UTC(2026, 10, 22, 13, 37, 11) / 1_000
const YEAR_S = 365 * DAY_S
const state = fc.constantFrom(5, 60, 300).chain((slotS) => {
  /** An age in seconds: minutes, days, up to two months, or years. */
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
      monthsFrom: fc.oneof(fc.constantFrom(0, Infinity), second.map(monthOf)),
      dirtySlots: fc.uniqueArray(slot, { maxLength: 12 }),
      dirtyDays: fc.uniqueArray(second.map(dayOf), { maxLength: 6 }),
    }),
    range: fc
      .tuple(second, second)
      .map(([a, b]): TimeRange => ({ startAt: Math.min(a, b), endAt: Math.max(a, b) })),
    more: fc.array(second, { maxLength: 20 }),
    cuts: fc.array(fc.oneof(second, second.map(dayOf), second.map(monthOf)), { maxLength: 4 }),
  })
})

/** All parts of a cover that contain a second. */
function placesOf({ months, days, slots, events }: UsageCover, slotS: number, at: number): string[] {
  const [day, slot] = [dayOf(at), at - (at % slotS)]
  const isIn = ({ startAt, endAt }: TimeRange, second: number) => second >= startAt && second < endAt
  const isInMonths = months.some((run) => isIn(run, day))
  return [
    ...months.filter((run) => isIn(run, day)).map(() => 'months'),
    ...(days !== undefined && isIn(days, day) && !isInMonths && !days.except.includes(day) ? ['days'] : []),
    ...(slots !== undefined && isIn(slots, slot) && slots.days.includes(day) && !slots.except.includes(slot)
      ? ['slots']
      : []),
    ...events.ranges.filter((range) => isIn(range, at)).map(() => 'raw'),
    ...events.slots.filter((one) => one === slot).map(() => 'raw'),
    ...events.days.filter((one) => one === day).map(() => 'raw'),
  ]
}

describe('the cover of a range', () => {
  /** Seconds at which something begins or ends. All seconds between two of these behave alike. */
  const edgesOf = (
    { months, days, slots, events }: UsageCover,
    { slotS, closedThrough, dirtySlots, dirtyDays }: RollupState,
  ) =>
    [
      closedThrough,
      ...[...months, days, slots, ...events.ranges].flatMap((range) =>
        range === undefined ? [] : [range.startAt, range.endAt],
      ),
      ...[...dirtySlots, ...events.slots, ...(slots?.except ?? [])].flatMap((slot) => [slot, slot + slotS]),
      ...[...dirtyDays, ...events.days, ...(days?.except ?? []), ...(slots?.days ?? [])].flatMap((day) => [
        day,
        day + slotS,
        day + DAY_S,
      ]),
    ].flatMap((at) => [at - 1, at, at + 1])

  it('has every second of the range in exactly one place, and no other', () => {
    fc.assert(
      fc.property(state, fc.boolean(), fc.boolean(), (drawn, hasMonths, readsFewMonths) => {
        const { state: known, range, more, cuts } = drawn
        const cover = coverUsage(range, known, { cuts, hasMonths, readsFewMonths })
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
      fc.property(state, fc.boolean(), ({ state: known, range, more, cuts }, readsFewMonths) => {
        const cover = coverUsage(range, known, { cuts, readsFewMonths })
        const { slotS, closedThrough, dirtySlots, dirtyDays, now } = known
        for (const at of [...edgesOf(cover, known), ...more]) {
          const [place] = placesOf(cover, slotS, at)
          if (place !== 'months' && place !== 'days' && place !== 'slots') continue
          const { startAt, endAt } = {
            months: { startAt: monthOf(at), endAt: monthAfter(at) },
            days: { startAt: dayOf(at), endAt: dayOf(at) + DAY_S },
            slots: { startAt: at - (at % slotS), endAt: at - (at % slotS) + slotS },
          }[place]
          const shown = `${place} at ${at}`
          expect(startAt, shown).to.be.at.least(range.startAt)
          expect(endAt, shown).to.be.at.most(Math.min(range.endAt, closedThrough))
          expect(
            dirtyDays.some((day) => day === dayOf(at) || (day >= startAt && day < endAt)),
            shown,
          ).to.equal(false)
          expect(
            dirtySlots.some((slot) => slot >= startAt && slot < endAt),
            shown,
          ).to.equal(false)
          expect(
            cuts.some((cut) => cut > startAt && cut < endAt),
            shown,
          ).to.equal(false)
          if (place === 'slots')
            expect(dayOf(at), shown).to.be.at.least(dayOf(now) - SLOTS_READ_FOR_DAYS * DAY_S)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes whole closed clean days from days or months, so that long ranges are read fast', () => {
    fc.assert(
      fc.property(state, ({ state: known, range, more }) => {
        const cover = coverUsage(range, known)
        const { closedThrough, dirtySlots, dirtyDays } = known
        for (const at of [...edgesOf(cover, known), ...more]) {
          const day = dayOf(at)
          const isWhole = day >= range.startAt && day + DAY_S <= Math.min(range.endAt, closedThrough)
          const isClean = !dirtyDays.includes(day) && !dirtySlots.some((slot) => dayOf(slot) === day)
          if (isWhole && isClean)
            expect(placesOf(cover, known.slotS, at)[0], String(at)).to.be.oneOf(['days', 'months'])
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes years from months, but for those in which something is late or cut', () => {
    const startOf = (month: number) => Date.UTC(2024, month - 1, 1) / 1_000
    const [june, september, december] = [startOf(6), startOf(9), startOf(12)]
    const range = { startAt: Date.UTC(2023, 4, 17, 3) / 1_000, endAt: NOW }
    const known: RollupState = {
      ...{ epoch: 1, now: NOW, slotS: 300, closedThrough: NOW - 300, monthsFrom: 0 },
      ...{ dirtySlots: [], dirtyDays: [] },
    }
    const monthsOf = (late: Partial<RollupState>, cuts: number[] = []) =>
      coverUsage(range, { ...known, ...late }, { cuts }).months.map(({ startAt, endAt }) =>
        [startAt, endAt].map((at) => new Date(at * 1_000).toISOString().slice(0, 7)).join(' '),
      )
    expect(monthsOf({})).to.deep.equal(['2023-06 2026-11'])
    const late = { dirtyDays: [june + 29 * DAY_S], dirtySlots: [december + 300, december + 900] }
    expect(monthsOf(late)).to.deep.equal(['2023-06 2024-06', '2024-07 2024-12', '2025-01 2026-11'])
    const cut = ['2023-06 2024-06', '2024-07 2026-11']
    expect(monthsOf({}, [june + DAY_S]), 'at the start of a day').to.deep.equal(cut)
    expect(monthsOf({}, [june + 1]), 'within a slot').to.deep.equal(cut)
    expect(monthsOf({}, [june]), 'where a month begins').to.deep.equal(['2023-06 2026-11'])
    // Five runs: the shortest is read by days.
    const four = { dirtyDays: [june, september, december, december + 70 * DAY_S] }
    expect(monthsOf(four)).to.have.length(4).and.not.include('2025-01 2025-02')
    expect(coverUsage(range, known, { hasMonths: false }).months).to.deep.equal([])
    expect(monthsOf({ monthsFrom: december })).to.deep.equal(['2024-12 2026-11'])
    for (const monthsFrom of [Infinity, Date.UTC(2026, 5, 1) / 1_000])
      expect(coverUsage(range, { ...known, monthsFrom }).months, String(monthsFrom)).to.deep.equal([])
    const short = { startAt: range.endAt - 150 * DAY_S, endAt: range.endAt }
    expect(coverUsage(short, known).months, 'days of a few months cost less').to.deep.equal([])
    expect(
      coverUsage(short, known, { readsFewMonths: true }).months,
      'but not of many accounts',
    ).to.deep.equal([{ startAt: Date.UTC(2026, 6, 1) / 1_000, endAt: Date.UTC(2026, 10, 1) / 1_000 }])
  })

  it('reads a slot once that several cuts lie in, or that is late as well', () => {
    fc.assert(
      fc.property(
        state,
        fc.array(fc.nat(900), { minLength: 1, maxLength: 8 }),
        ({ state: drawn, range, more }, near) => {
          const cuts = [...more, ...near.map((by) => range.startAt + by)]
          const { events, slots, days } = coverUsage(range, drawn, { cuts })
          for (const places of [events.slots, events.days, slots?.except ?? [], days?.except ?? []])
            expect(places).to.deep.equal([...new Set(places)])
        },
      ),
    )
  })
})
