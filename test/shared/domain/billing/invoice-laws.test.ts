import { expect } from 'chai'
import fc from 'fast-check'
import { formatRatio, RATIO_ZERO, sumRatios } from '../../../../shared/amount/ratio.ts'
import type { Contract } from '../../../../shared/domain/billing/contract.ts'
import type { Invoice } from '../../../../shared/domain/billing/invoice.ts'
import { findOverlap } from '../../../../shared/domain/billing/overlap.ts'
import { planInvoice } from '../../../../shared/domain/billing/plan.ts'
import type { Price } from '../../../../shared/domain/billing/price.ts'
import type { Rate } from '../../../../shared/domain/billing/rate.ts'
import { applyChange } from '../../../../shared/domain/billing/timeline-change.ts'
import { cardLineOf, dailyContract, previewOf } from '../../../support/billing-stage.ts'
import type { EventJson } from '../../../support/billing-vectors.ts'
import { textOf, unitsOf } from '../../../support/decimal-units.ts'
import { randomRate } from '../../../support/random-rates.ts'

const SEED = 20_260_105

// Periods are days; rates and lines begin and end within two of them, at the same few times.
const DAY_S = 86_400
const SPREAD = DAY_S / 6

const PRICES = new Map<string, Price>(
  ['a', 'b', 'c', 'rest'].map((name, index) => [
    `price_${name}`,
    {
      id: `price_${name}`,
      productId: 'product_a',
      currency: 'usd',
      terms: {
        model: 'per_unit',
        unitAmount: String(index + 1),
        per: '1',
        includedQuantity: '0',
        minimumAmount: null,
        maximumAmount: null,
      },
    },
  ]),
)

const rates = fc
  .array(randomRate('rate'), { minLength: 1, maxLength: 6 })
  .map((some) =>
    some.map((rate, index) => ({
      ...rate,
      id: `rate_${index}`,
      // Most rates are in force when another entry begins.
      startsAt: Math.max(0, rate.startsAt - 2) * SPREAD,
      endsAt: rate.endsAt === null ? null : rate.endsAt * 3 * SPREAD,
    })),
  )
  // Like in a card, a rate that overlaps an earlier one is dropped.
  .map((some) =>
    some.reduce<Rate[]>((card, rate) => (findOverlap([...card, rate]) ? card : [...card, rate]), []),
  )

const event = fc.record({
  source: fc.constantFrom('metric_t', 'metric_t', 'metric_u', 'metric_v'),
  quantity: fc.integer({ min: -3, max: 40 }).map((n) => textOf(BigInt(n) * 10n ** 17n)),
  occurred_at: fc.oneof(
    fc.integer({ min: 0, max: 2 * DAY_S }),
    // Times at the edges of pieces.
    fc.constantFrom(0, SPREAD, 2 * SPREAD, 3 * SPREAD, DAY_S, 2 * DAY_S - 1),
  ),
  region: fc.constantFrom('a', 'b', 'c', 'd', null, undefined),
  model: fc.constantFrom('a', 'b', 'c', 'd', 5, undefined),
})
const events = fc.array(event, { maxLength: 25 }).map((some) =>
  some.map(({ source, quantity, occurred_at, ...properties }, index): EventJson => ({
    id: `event_${index}`,
    source,
    quantity,
    occurred_at,
    accepted_at: occurred_at,
    properties,
  })),
)

/** Consecutive card lines, sometimes with a gap. */
const contract = fc
  .record({
    cuts: fc.uniqueArray(fc.integer({ min: 1, max: 11 }), { maxLength: 3 }),
    gap: fc.integer({ max: 5, min: 0 }),
  })
  .map(({ cuts, gap }): Contract => {
    const starts = [0, ...cuts.toSorted((a, b) => a - b)].map((cut) => cut * SPREAD)
    const lines = starts.map((startsAt, index) =>
      cardLineOf({ id: `line_${index}`, startsAt, endsAt: starts[index + 1] ?? null }),
    )
    return dailyContract(lines.filter((_, index) => index !== gap))
  })

const world = fc.record({
  contract,
  rates,
  events,
  at: fc.constantFrom(0, DAY_S),
  asOf: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 2 * DAY_S })),
})

const preview = (
  of: Contract,
  rates: readonly Rate[],
  events: readonly EventJson[],
  at: number,
  asOf: number,
): Invoice => previewOf(of, { prices: PRICES, rates, events, at, asOf })

const shown = (invoice: Invoice) =>
  invoice.lines.map(
    ({ lineId, rate, value, startAt, quantity, eventCount, amount }) =>
      `${lineId} ${rate?.id ?? ''} ${String(value)} ${startAt}: ${formatRatio(quantity)} of ${String(eventCount)}, ${formatRatio(amount)}`,
  )

/** Counts events for each rate: from [line, rate, value] to the count and the sum in units of the 18th place. */
function countByHand(
  of: Contract,
  card: readonly Rate[],
  some: readonly EventJson[],
  at: number,
  asOf: number,
) {
  const counted = new Map<string, { count: number; sum: bigint }>()
  const reached = new Set<string>()
  const within: EventJson[] = []
  for (const line of of.lines) {
    const startAt = Math.max(line.startsAt, at)
    const endAt = Math.min(line.endsAt ?? Infinity, at + DAY_S)
    for (const one of some) {
      if (one.occurred_at < startAt || one.occurred_at >= endAt || one.occurred_at >= asOf) continue
      within.push(one)
      for (const rate of card) {
        if (rate.startsAt > startAt || (rate.endsAt !== null && rate.endsAt <= startAt)) continue
        if (rate.source !== one.source) continue
        const textOfProperty = (name: string) => {
          const value = one.properties?.[name] as string | number | null | undefined
          return String(value ?? '')
        }
        if (!rate.filters.every((filter) => filter.values.includes(textOfProperty(filter.property)))) continue
        const own = rate.groupBy === null ? '' : textOfProperty(rate.groupBy)
        const isListed = rate.prices.some(({ value }) => value === own)
        if (!isListed && rate.priceId === null) continue
        const key = `${line.id} ${rate.id} ${isListed ? own : 'null'} ${startAt}`
        const before = counted.get(key) ?? { count: 0, sum: 0n }
        counted.set(key, { count: before.count + 1, sum: before.sum + unitsOf(one.quantity) })
        const once = `${one.id} ${rate.aggregation}`
        expect(reached.has(once), `${once} is counted twice`).to.equal(false)
        reached.add(once)
      }
    }
  }
  return { counted, within }
}

describe('invoices', () => {
  it('count what a plain loop over the events counts, once under an aggregation', () => {
    let lines = 0
    fc.assert(
      fc.property(world, ({ contract: of, rates: card, events: some, at, asOf }) => {
        const { counted } = countByHand(of, card, some, at, asOf)
        const invoice = preview(of, card, some, at, asOf)
        for (const line of invoice.lines) {
          const key = `${line.lineId} ${line.rate?.id ?? ''} ${String(line.value)} ${line.startAt}`
          const { count, sum } = counted.get(key) ?? { count: 0, sum: 0n }
          expect(line.eventCount, key).to.equal(BigInt(count))
          const wanted = line.rate?.aggregation === 'count' ? String(count) : textOf(sum)
          expect(formatRatio(line.quantity), key).to.equal(wanted)
          counted.delete(key)
          lines++
        }
        expect([...counted.keys()]).to.deep.equal([])
        expect(formatRatio(invoice.subtotal)).to.equal(
          formatRatio(sumRatios(invoice.lines.map(({ amount }) => amount))),
        )
      }),
      { seed: SEED, numRuns: 500 },
    )
    expect(lines).to.be.above(500)
  })

  it('rate or name each event within card lines: what matched and what did not add up to all', () => {
    let unrated = 0
    fc.assert(
      fc.property(world, ({ contract: of, rates: card, events: some, at, asOf }) => {
        // Only within one aggregation, because an event may be in a sum and in a count.
        const sums = card.filter(({ aggregation }) => aggregation === 'sum')
        const { within } = countByHand(of, sums, some, at, asOf)
        const invoice = preview(of, sums, some, at, asOf)
        for (const source of new Set(some.map((one) => one.source))) {
          const all = within.filter((one) => one.source === source)
          const left = invoice.unrated.find((one) => one.source === source)
          const matched = invoice.lines.filter(({ rate }) => rate?.source === source)
          const count = matched.reduce(
            (total, { eventCount }) => total + (eventCount ?? 0n),
            left?.eventCount ?? 0n,
          )
          expect(count, source).to.equal(BigInt(all.length))
          const quantity = sumRatios([...matched.map((line) => line.quantity), left?.quantity ?? RATIO_ZERO])
          expect(formatRatio(quantity)).to.equal(
            textOf(all.reduce((sum, one) => sum + unitsOf(one.quantity), 0n)),
          )
          unrated += Number(left?.eventCount ?? 0n)
        }
        for (const { eventCount } of invoice.unrated) expect(eventCount > 0n).to.equal(true)
      }),
      { seed: SEED, numRuns: 500 },
    )
    expect(unrated).to.be.above(300)
  })

  it('do not depend on the order of lines, rates and events', () => {
    fc.assert(
      fc.property(world, ({ contract: of, rates: card, events: some, at, asOf }) => {
        const turned = { ...of, lines: of.lines.toReversed() }
        expect(shown(preview(turned, card.toReversed(), some.toReversed(), at, asOf))).to.deep.equal(
          shown(preview(of, card, some, at, asOf)),
        )
      }),
      { seed: SEED, numRuns: 300 },
    )
  })

  it('keep every piece that has begun through any change of the card', () => {
    let changed = 0
    const change = fc.record({
      effectiveAt: fc.integer({ min: 0, max: 11 }).map((n) => n * SPREAD + 1),
      added: rates,
    })
    fc.assert(
      fc.property(
        world,
        change,
        ({ contract: of, rates: card, events: some, at }, { effectiveAt, added }) => {
          const open = card.filter(
            ({ startsAt, endsAt }) => startsAt <= effectiveAt && (endsAt === null || effectiveAt < endsAt),
          )
          const add = added.map((rate, index) => ({
            ...rate,
            id: `rate_new_${index}`,
            startsAt: effectiveAt + rate.startsAt,
            endsAt: rate.endsAt === null ? null : effectiveAt + rate.endsAt,
          }))
          const after = applyChange(card, { effectiveAt, end: open.map(({ id }) => id), add })
          const begun = (invoice: Invoice) =>
            shown({ ...invoice, lines: invoice.lines.filter(({ startAt }) => startAt < effectiveAt) })
          const before = preview(of, card, some, at, Infinity)
          const now = preview(of, after, some, at, Infinity)
          expect(begun(now)).to.deep.equal(begun(before))
          if (shown(now).join() !== shown(before).join()) changed++
        },
      ),
      { seed: SEED, numRuns: 500 },
    )
    expect(changed).to.be.above(50)
  })

  it('keep what a piece is rated by when its line is replaced: its end alone moves', () => {
    fc.assert(
      fc.property(
        world,
        fc.integer({ min: 1, max: 2 * DAY_S }),
        ({ contract: of, rates: card, at }, effectiveAt) => {
          const open = of.lines.filter(
            ({ startsAt, endsAt }) => startsAt <= effectiveAt && (endsAt === null || effectiveAt < endsAt),
          )
          const add = open.map((line) => ({ ...line, id: `${line.id}_new`, startsAt: effectiveAt }))
          const lines = applyChange(of.lines, { effectiveAt, end: open.map(({ id }) => id), add })
          const begun = (some: Contract) =>
            planInvoice(some, new Map([['card', card]]), { at, asOf: Infinity }).pieces.filter(
              ({ startAt }) => startAt < effectiveAt,
            )
          const wanted = begun(of).map((piece) => ({
            id: piece.line.id,
            startAt: piece.startAt,
            endAt: open.includes(piece.line) ? Math.min(piece.endAt, effectiveAt) : piece.endAt,
            rates: piece.rates,
          }))
          expect(
            begun({ ...of, lines }).map(({ line, startAt, endAt, rates: ratedBy }) => ({
              id: line.id,
              startAt,
              endAt,
              rates: ratedBy,
            })),
          ).to.deep.equal(wanted)
        },
      ),
      { seed: SEED, numRuns: 500 },
    )
  })
})

describe('changes', () => {
  const entry = (id: string, startsAt: number, endsAt: number | null = null) => ({ id, startsAt, endsAt })

  it('end what is in force and add what starts then', () => {
    const before = [entry('a', 0), entry('b', 0, 50), entry('c', 100)]
    expect(applyChange(before, { effectiveAt: 10, end: ['a'], add: [entry('d', 10)] })).to.deep.equal([
      entry('a', 0, 10),
      entry('b', 0, 50),
      entry('c', 100),
      entry('d', 10),
    ])
    expect(before[0]).to.deep.equal(entry('a', 0))
    // An entry that ends at its own start is withdrawn.
    expect(applyChange(before, { effectiveAt: 100, end: ['c'], add: [] })[2]).to.deep.equal(
      entry('c', 100, 100),
    )
  })

  it('refuse to end what is not in force then, and to add what starts before', () => {
    const before = [entry('a', 0, 50), entry('c', 100)]
    for (const [effectiveAt, id] of [
      [50, 'a'],
      [99, 'c'],
      [10, 'x'],
    ] as const)
      expect(() => applyChange(before, { effectiveAt, end: [id], add: [] }))
        .to.throw()
        .with.property('code', 'unprocessable')
    expect(() => applyChange(before, { effectiveAt: 10, end: [], add: [entry('d', 9)] }))
      .to.throw()
      .with.property('code', 'unprocessable')
  })
})
