import { expect } from 'chai'
import { parseAmount } from '../../../../shared/amount/amount.ts'
import { formatRatio, parseRatio, type Ratio } from '../../../../shared/amount/ratio.ts'
import { quantityOf, usageOfEvent } from '../../../../shared/domain/billing/aggregate.ts'
import { chargeOf } from '../../../../shared/domain/billing/charge.ts'
import { creditsDue } from '../../../../shared/domain/billing/contract-credits.ts'
import { cancellationOf, contractStatus } from '../../../../shared/domain/billing/contract-status.ts'
import { applyCredit } from '../../../../shared/domain/billing/credit.ts'
import { minorUnitsOf } from '../../../../shared/domain/billing/invoice.ts'
import { groupOf } from '../../../../shared/domain/billing/matches.ts'
import { overlapOf } from '../../../../shared/domain/billing/overlap.ts'
import { boundary, periodAt, periodIndex } from '../../../../shared/domain/billing/periods.ts'
import { pieceOf, shareOf } from '../../../../shared/domain/billing/pieces.ts'
import { readTerms } from '../../../../shared/domain/billing/price.ts'
import {
  compareLines,
  type SimulatedAccount,
  type SimulatedCard,
  simulateLines,
  simulationTotals,
} from '../../../../shared/domain/billing/simulate.ts'
import {
  asInVectors,
  chargeToJson,
  creditToJson,
  grantFromJson,
  previewOfWorld,
} from '../../../support/billing-answers.ts'
import {
  type BillingVectors,
  lineFromJson,
  measure,
  priceFromJson,
  rateFromJson,
  readBillingVectors,
  termsFromJson,
  timesFromJson,
} from '../../../support/billing-vectors.ts'

const vectors = readBillingVectors()

/** The number of cases, so that a lost case is noticed. */
const COUNTS = {
  prices: 72,
  periods: 11,
  pieces: 9,
  overlaps: 14,
  matches: 11,
  aggregations: 14,
  credits: 16,
  statuses: 14,
  contract_credits: 7,
  invoices: 19,
  simulations: 1,
}

type Category = keyof typeof COUNTS

/** A test for each case of a category. */
function all<C extends Category>(category: C, check: (test: BillingVectors[C][number]) => void): void {
  describe(category, () => {
    it(`are ${COUNTS[category]}`, () => {
      expect(vectors[category]).to.have.length(COUNTS[category])
    })
    for (const test of vectors[category] as BillingVectors[C][number][])
      it(test.id, () => {
        check(test)
      })
  })
}

describe('billing vectors', () => {
  it('name the minor units of ISO 4217', () => {
    for (const [currency, units] of Object.entries(vectors.minor_units))
      expect(minorUnitsOf(currency), currency).to.equal(units)
  })

  all(
    'prices',
    ({ price, quantity, measured, share, discount_percent, line_starts_here, expect: wanted }) => {
      const charge = chargeOf(readTerms(termsFromJson(price)), {
        quantity: parseRatio(quantity),
        isMeasured: measured,
        share: { seconds: share[0], of: share[1] },
        discountPercent: parseRatio(discount_percent),
        startsHere: line_starts_here ?? false,
        minorUnits: minorUnitsOf(price.currency),
      })
      expect(chargeToJson(charge)).to.deep.equal(wanted)
    },
  )

  all('periods', ({ anchor_at, cadence, first_k, boundaries }) => {
    const schedule = { anchorAt: anchor_at, cadence }
    expect(boundaries.map((_, index) => boundary(schedule, first_k + index))).to.deep.equal(boundaries)
    for (const [index, startAt] of boundaries.entries()) {
      expect(periodIndex(schedule, startAt)).to.equal(first_k + index)
      expect(periodIndex(schedule, startAt - 1)).to.equal(first_k + index - 1)
    }
  })

  all('pieces', ({ contract, line, second, expect: wanted }) => {
    const times = timesFromJson(contract)
    const period = periodAt(times, second)
    const piece = pieceOf({ startsAt: line.starts_at, endsAt: line.ends_at ?? null }, times, period)
    expect([period.startAt, period.endAt]).to.deep.equal(wanted.period)
    expect(piece ? [piece.startAt, piece.endAt] : null).to.deep.equal(wanted.piece)
    if (piece === undefined) expect(wanted.share).to.equal(null)
    else {
      const { seconds, of } = shareOf(piece, period)
      const [wantedSeconds, wantedOf] = wanted.share ?? [0, 1]
      expect(seconds * wantedOf).to.equal(wantedSeconds * of)
    }
  })

  all('overlaps', ({ a: aJson, b: bJson, expect: wanted }) => {
    const [a, b] = [rateFromJson(aJson), rateFromJson(bJson)]
    for (const example of [overlapOf(a, b), overlapOf(b, a)]) {
      expect(example !== undefined).to.equal(wanted)
      if (example) for (const rate of [a, b]) expect(groupOf(rate, example)).to.not.equal(undefined)
    }
  })

  all('matches', ({ rate: json, properties, expect: wanted }) => {
    const group = groupOf(rateFromJson(json), { source: 'metric_t', properties })
    expect(group === undefined ? { matches: false } : { matches: true, value: group }).to.deep.equal(wanted)
  })

  all('aggregations', ({ events, aggregation, expect: wanted }) => {
    for (const order of [events, events.toReversed()])
      expect(formatRatio(quantityOf(measure(order), aggregation))).to.equal(wanted)
  })

  all('credits', ({ currency, at, grants, usage, total, expect: wanted }) => {
    const credit = applyCredit({
      total: parseRatio(total),
      grants: grants.map(grantFromJson),
      usage: parseRatio(usage),
      before: at,
      minorUnits: minorUnitsOf(currency),
    })
    expect(creditToJson(credit)).to.deep.equal(wanted)
  })

  all('statuses', ({ contract, now, mode, expect: wanted }) => {
    const times = timesFromJson(contract)
    const answer =
      mode === undefined
        ? { status: contractStatus(times, now) }
        : { cancel_at: cancellationOf(times, { mode }, now) }
    expect(answer).to.deep.equal(wanted)
  })

  all('contract_credits', ({ contract, line: lineJson, now, expect: wanted }) => {
    const line = lineFromJson(lineJson)
    if (line.kind !== 'credit') throw new Error('not a credit line')
    const due = creditsDue(timesFromJson(contract), line, now)
    expect(
      due.map(({ periodStartAt, amount, effectiveAt, expiresAt }) => ({
        period_start_at: periodStartAt,
        amount,
        effective_at: effectiveAt,
        ...(expiresAt !== null && { expires_at: expiresAt }),
      })),
    ).to.deep.equal(wanted)
  })

  all('invoices', ({ world, request, expect: wanted }) => {
    expect(asInVectors(previewOfWorld(world, request), wanted)).to.deep.equal(wanted)
  })

  all('simulations', ({ start_at, end_at, prices: priced, usage, expect: wanted }) => {
    const prices = new Map(Object.entries(priced).map(([id, json]) => [id, priceFromJson(id, json)]))
    const cardOf = (priceId: string): SimulatedCard => ({
      rates: [rateFromJson({ id: 'rate_a', source: 'metric_t', starts_at: 0, price_id: priceId })],
      line: {
        kind: 'card',
        id: 'line_a',
        startsAt: start_at,
        endsAt: null,
        rateCardId: priceId,
        priceOverrides: [],
        discountPercent: '0',
      },
    })
    const accounts = Object.entries(usage).map(([accountId, quantity]) => {
      const event = { id: 'event_01', quantity: parseAmount(quantity), occurredAt: start_at, acceptedAt: 0 }
      const row = { source: 'metric_t', properties: {}, usage: usageOfEvent(event) }
      const period = { startAt: start_at, endAt: end_at, rowsBySource: new Map([['metric_t', [row]]]) }
      const linesBy = (priceId: string) => simulateLines(cardOf(priceId), [period], prices, 2)
      return compareLines(accountId, linesBy('old'), linesBy('new'))
    })
    const { quantiles, largest, ...totals } = simulationTotals(accounts)
    expect({ data: accounts.map(withText), totals: withText(totals) }).to.deep.equal(wanted)
    // The differences are -14, -2, 1, 1.99 and 2.
    expect(withText(quantiles)).to.deep.equal({ p5: '-14', p25: '-2', p50: '1', p75: '1.99', p95: '2' })
    const idsOf = (some: readonly SimulatedAccount[]) => some.map(({ accountId }) => accountId)
    expect(idsOf(largest.increases)).to.deep.equal(['account_b', 'account_c', 'account_a'])
    expect(idsOf(largest.decreases)).to.deep.equal(['account_d', 'account_e'])
    const unused = { startAt: start_at, endAt: end_at, rowsBySource: new Map() }
    expect(simulateLines(undefined, [unused], prices, 2)).to.have.length(0)
  })
})

/** Converts names to those of the API, and ratios to text. */
const withText = (object: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]: [string, unknown]) => [
      name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`),
      typeof value === 'object' ? formatRatio(value as Ratio) : value,
    ]),
  )
