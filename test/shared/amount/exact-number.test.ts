import { expect } from 'chai'
import fc from 'fast-check'
import { findInexactNumber, findInexactNumbers } from '../../../shared/amount/exact-number.ts'

describe('numbers in JSON', () => {
  it('are found when a double would alter them', () => {
    for (const number of [
      '9007199254740993',
      '-9007199254740993',
      '0.30000000000000001',
      '0.1234567890123456789',
      '1e400',
      '1e-400',
      '123456789012345678901234567890',
      '1.00000000000000000000000000001',
    ])
      expect(findInexactNumber(`{"a":"x","b":[1,{"c":${number}}]}`), number).to.equal(number)
  })

  it('are left alone when it would not', () => {
    for (const number of [
      '0',
      '-0',
      '1',
      '1.0',
      '0.1',
      '1e3',
      '1E-7',
      '9007199254740992',
      '1e21',
      '5e-324',
      '1.50000000000000000000',
    ])
      expect(findInexactNumber(`{"a":${number}}`), number).to.equal(undefined)
  })

  it('are not looked for inside text', () => {
    expect(
      findInexactNumber('{"a":"9007199254740993","b\\"9007199254740993":"\\\\","c":"\\"1e999"}'),
    ).to.equal(undefined)
  })

  it('are found wherever they stand in a document, and never where none is', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(findInexactNumber(json)).to.equal(undefined) // JSON.stringify writes only what a double holds
        expect(findInexactNumber(`[${json},18014398509481985]`)).to.equal('18014398509481985')
      }),
    )
  })

  it('are named by the element they are in', () => {
    const json = '{"events":[{"p":{"n":1}},{"p":{"l":[1,2,9007199254740993],"s":"],[,{"}},{},{"n":1e400}]}'
    expect([...findInexactNumbers(json)]).to.deep.equal([
      { text: '9007199254740993', element: 1 },
      { text: '1e400', element: 3 },
    ])
    expect([...findInexactNumbers('{"properties":{"l":[1,1e400]}}')][0]?.element).to.equal(0)
  })

  it('of absurd length are refused at once', () => {
    const startedAt = performance.now()
    expect(findInexactNumber(`[0.${'3'.repeat(4_000_000)}]`)).to.have.length(4_000_002)
    expect(performance.now() - startedAt).to.be.lessThan(1_000)
  })
})
