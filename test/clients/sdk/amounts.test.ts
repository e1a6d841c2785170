import { expect } from 'chai'
import fc from 'fast-check'
import { withAmountsAsText } from '../../../clients/sdk/src/core/amounts.ts'
import { decimals } from '../../../clients/sdk/src/node.ts'
import { failureOf } from '../../support/failure-of.ts'
import { scriptedClient } from './scripted-client.ts'

const PLACES = 18
const units = fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n })
const textOf = (value: bigint): string => {
  const digits = (value < 0n ? -value : value).toString().padStart(PLACES + 1, '0')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`
}
const unitsOf = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(PLACES, '0'))
}

describe('amounts of the SDK', () => {
  it('are sent as text, at any depth, and other fields as they are', () => {
    const body = {
      amount: 10n,
      effective_at: 1_700_000_000,
      lines: [{ minimum_amount: -5, credit: { amount: '0.1', currency: 'usd' } }],
      tiers: [{ up_to: null, unit_amount: 0 }],
      properties: { quantity: 3, amount: { up_to: 1 } },
    }
    expect(withAmountsAsText(body)).to.deep.equal({
      amount: '10',
      effective_at: 1_700_000_000,
      lines: [{ minimum_amount: '-5', credit: { amount: '0.1', currency: 'usd' } }],
      tiers: [{ up_to: null, unit_amount: '0' }],
      properties: { quantity: 3, amount: { up_to: 1 } },
    })
    expect(withAmountsAsText({ quantity: -0 })).to.deep.equal({ quantity: '0' })
  })

  it('are refused before anything is sent when they are numbers that may have lost digits', async () => {
    for (const quantity of [0.1, 2 ** 53, NaN, Infinity, -1.5]) {
      const { tally, requests } = scriptedClient([{ body: { id: 'event_1' } }])
      const err = await failureOf(tally.events.report({ account_id: 'a', currency: 'usd', quantity }))
      expect(err, String(quantity)).to.be.instanceOf(TypeError)
      expect((err as Error).message).to.contain(`quantity: ${quantity} is not a safe integer`)
      expect(requests.length).to.equal(0)
    }
  })

  it('are added, subtracted and compared exactly', () => {
    fc.assert(
      fc.property(units, units, (a, b) => {
        const [x, y] = [textOf(a), textOf(b)]
        expect(unitsOf(decimals.add(x, y))).to.equal(a + b)
        expect(unitsOf(decimals.subtract(x, y))).to.equal(a - b)
        expect(decimals.compare(x, y)).to.equal(a < b ? -1 : a > b ? 1 : 0)
        expect(decimals.isNegative(x)).to.equal(a < 0n)
      }),
    )
  })

  it('are formatted as Tally formats them', () => {
    expect(decimals.add('0.1', '0.2')).to.equal('0.3')
    expect(decimals.subtract('1.50', 2)).to.equal('-0.5')
    expect(decimals.add('-1', 1n)).to.equal('0')
    expect(decimals.add('0.05', '9.95')).to.equal('10')
    expect(decimals.compare('1', '1.000')).to.equal(0)
    for (const text of ['', '1.', '.5', '1e3', ' 1', '+1', 'NaN'])
      expect(() => decimals.isNegative(text), text).to.throw(TypeError)
  })
})
