import { expect } from 'chai'
import fc from 'fast-check'
import { addRatios, compareRatios, type Ratio, RATIO_ZERO } from '../../../../shared/amount/ratio.ts'
import { differenceOf, type NumberDifference } from '../../../../shared/domain/billing/difference.ts'
import type { InvoiceLine } from '../../../../shared/domain/billing/rate-usage.ts'
import { invoiceOfWorld } from '../../../support/billing-answers.ts'
import type { EventJson } from '../../../support/billing-vectors.ts'
import { randomWorld } from '../../../support/random-worlds.ts'

const SEED = 20_260_301

describe('the difference between two invoices of a plan', () => {
  it('has each line of either in the order of an invoice, and adds up', () => {
    let gone = 0
    let come = 0
    fc.assert(
      fc.property(randomWorld, fc.infiniteStream(fc.nat({ max: 3 })), ({ world, request }, draws) => {
        const kept = (some: readonly number[]) => {
          const drawn = world.events.map((event): [EventJson, number] => [
            event,
            draws.next().value as number,
          ])
          return drawn.filter(([, way]) => some.includes(way)).map(([event]) => event)
        }
        const [then, now] = [kept([0, 1]), kept([0, 2])].map((events) => ({ ...world, events }))
        const either = [...new Set([...(then?.events ?? []), ...(now?.events ?? [])])]
        const { plan, invoice: before } = invoiceOfWorld(then ?? world, request)
        const { invoice: after } = invoiceOfWorld(now ?? world, request)
        const { invoice: both } = invoiceOfWorld({ ...world, events: either }, request)
        const { lines, ...totals } = differenceOf(plan, before, after)
        const keys = lines.map(({ lineId, rateId, value, startAt }) => keyOf(lineId, rateId, value, startAt))
        const [ofThen, ofNow] = [before, after].map(
          (of) => new Map(of.lines.map((one) => [keyOfLine(one), one])),
        )
        expect(keys).to.deep.equal(
          both.lines.map(keyOfLine).filter((key) => ofThen?.has(key) === true || ofNow?.has(key) === true),
        )
        for (const [nth, { quantity, amount }] of lines.entries()) {
          const [was, is] = [ofThen?.get(keys[nth] ?? ''), ofNow?.get(keys[nth] ?? '')]
          requireAddedUp(quantity, was?.quantity, is?.quantity)
          requireAddedUp(amount, was?.amount, is?.amount)
          if (was === undefined) come++
          if (is === undefined) gone++
        }
        requireAddedUp(totals.subtotal, before.subtotal, after.subtotal)
        requireAddedUp(totals.minimumAdjustment, before.minimumAdjustment, after.minimumAdjustment)
        requireAddedUp(totals.total, before.total, after.total)
        requireAddedUp(totals.creditTotal, before.creditTotal, after.creditTotal)
        requireAddedUp(totals.amountDue, before.amountDue, after.amountDue)
      }),
      { seed: SEED, numRuns: 250 },
    )
    expect(Math.min(gone, come)).to.be.greaterThan(10)
  })
})

const keyOf = (...parts: readonly unknown[]): string => JSON.stringify(parts)
const keyOfLine = ({ lineId, rate, value, startAt }: InvoiceLine): string =>
  keyOf(lineId, rate?.id ?? null, value, startAt)

function requireAddedUp(
  { then, now, difference }: NumberDifference,
  was: Ratio | undefined,
  is: Ratio | undefined,
): void {
  expect([then, now]).to.deep.equal([was ?? null, is ?? null])
  expect(compareRatios(addRatios(then ?? RATIO_ZERO, difference), now ?? RATIO_ZERO)).to.equal(0)
}
