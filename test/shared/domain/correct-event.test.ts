import { expect } from 'chai'
import fc from 'fast-check'
import { changesNothing, correctEvent, type EventCorrection } from '../../../shared/domain/correct-event.ts'
import { makeReport } from '../../support/usage-event.ts'

const now = 1_767_225_700_000_000
const change = fc.oneof(
  fc.record({ quantity: fc.constantFrom('1', '2', '3') }),
  fc.record({ properties: fc.constantFrom('{}', '{"a":1}'), propertyPairs: fc.constant([]) }),
  fc.constant<EventCorrection>({ void: true }),
)

describe('correcting an event', () => {
  it('changes what is named, and nothing that identifies it', () => {
    const report = makeReport({ properties: '{"a":1}', propertyPairs: ['a=1'] })
    const { version, ...corrected } = correctEvent(report, { quantity: '7' }, now)
    const { version: before, ...expected } = { ...report, quantity: '7', correctedAt: now }
    expect(corrected).to.deep.equal(expected)
    expect(version > before).to.equal(true)
  })

  it('makes versions that rise with each correction, whatever the clock shows', () => {
    const clock = fc.array(fc.tuple(change, fc.integer({ min: now - 1_000, max: now + 1_000 })), {
      minLength: 2,
    })
    fc.assert(
      fc.property(clock, (steps) => {
        let event = makeReport()
        for (const [wanted, at] of steps) {
          const after = correctEvent(event, wanted, at)
          expect(after.version > event.version).to.equal(true)
          expect(after.correctedAt).to.be.greaterThan(event.correctedAt ?? event.acceptedAt)
          event = after
        }
      }),
    )
  })

  it('does nothing when the event is so already, unless it is void', () => {
    const report = makeReport({ quantity: '5', properties: '{"a":1}' })
    const voided = { ...report, voided: true }
    expect(changesNothing(report, { quantity: '5' })).to.equal(true)
    expect(changesNothing(report, { quantity: '5', properties: '{}', propertyPairs: [] })).to.equal(false)
    expect(changesNothing(report, { void: true })).to.equal(false)
    expect(changesNothing(voided, { void: true })).to.equal(true)
    expect(changesNothing(voided, { quantity: '5' })).to.equal(false)
  })

  it('does nothing when only the order of fields is another, also that of an event of before they had one', () => {
    const stored = makeReport({ properties: '{"b":{"y":1,"x":2},"a":1}' })
    const properties = '{"a":1,"b":{"x":2,"y":1}}'
    expect(changesNothing(stored, { properties, propertyPairs: [] })).to.equal(true)
    expect(changesNothing(stored, { properties: '{"a":1,"b":{"x":1,"y":2}}' })).to.equal(false)
    expect(changesNothing(stored, { properties, quantity: '7' })).to.equal(false)
  })
})
