import { expect } from 'chai'
import fc from 'fast-check'
import { compareDecimals, differenceOf, isZero, sumDecimals } from '../../../console/src/format/decimal.ts'
import { causesOf, effectsOf } from '../../../console/src/format/effects.ts'

const cents = fc.integer({ min: -10_000, max: 10_000 }).map((n) => differenceOf('0', (n / 100).toFixed(2)))
const changes = fc
  .tuple(cents, cents)
  .map(([then, now]) => ({ then, now, difference: differenceOf(then, now) }))

describe('what changed the amount that is due', () => {
  it('adds up to its difference, and the largest effect stands first', () => {
    fc.assert(
      fc.property(
        fc.array(changes.map((amount) => ({ amount }))),
        changes,
        changes,
        (lines, minimum, credit) => {
          const effects = effectsOf({ lines, minimum_adjustment: minimum, credit_total: credit }).map(
            ({ effect }) => effect,
          )
          const total = sumDecimals([
            ...lines.map(({ amount }) => amount.difference),
            minimum.difference,
            differenceOf(credit.difference, '0'),
          ])
          expect(sumDecimals(effects)).to.equal(total)
          expect(effects.filter(isZero)).to.deep.equal([])
          const sizes = effects.map((effect) => effect.replace('-', ''))
          for (const [index, size] of sizes.entries())
            expect(compareDecimals(sizes[index - 1] ?? size, size)).to.be.at.least(0)
        },
      ),
    )
  })

  const state = (quantity: string, line: string, voided = false) => ({ quantity, line, voided })
  const events = [
    { occurred_at: 5, then: null, now: state('3', 'a') },
    { occurred_at: 15, then: null, now: state('4', 'a') },
    { occurred_at: 5, then: state('9', 'a'), now: state('2', 'b') },
    { occurred_at: 5, then: state('1.5', 'a'), now: state('1.5', 'a', true) },
    { occurred_at: 5, then: null, now: state('8', 'b') },
  ]
  const causesIn = (line: string, difference: string) =>
    causesOf(events, 10, (one) => one.line === line, difference)

  it('is told by the kinds of events, with what they add to the line', () => {
    expect(causesIn('a', '-3.5')).to.deep.equal([
      { kind: 'late', count: 1, quantity: '3' },
      { kind: 'new', count: 1, quantity: '4' },
      { kind: 'corrected', count: 1, quantity: '-9' },
      { kind: 'voided', count: 1, quantity: '-1.5' },
    ])
    expect(causesIn('b', '10')).to.deep.equal([
      { kind: 'late', count: 1, quantity: '8' },
      { kind: 'corrected', count: 1, quantity: '2' },
    ])
  })

  it('has no quantities where those of events are not all of the difference', () => {
    expect(causesIn('b', '11').map(({ quantity }) => quantity)).to.deep.equal([undefined, undefined])
    expect(causesIn('c', '1')).to.deep.equal([])
  })
})
