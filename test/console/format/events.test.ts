import { expect } from 'chai'
import fc from 'fast-check'
import { eventChanges, hasCorrection } from '../../../console/src/format/event-changes.ts'
import { chipsOf, parseProperties } from '../../../console/src/format/event-properties.ts'
import { visibleJson } from '../../../console/src/format/visible-text.ts'

const NAMES = fc.oneof(fc.constantFrom('model', 'region', 'gen_ai.request.model', 'with space'), fc.string())
// A field of this name cannot be made by a literal, and JSON has no negative zero.
const VALUES = fc.jsonValue().filter((value) => !/__proto__|-0[,}\]]|-0$/.test(JSON.stringify(value)))
const PROPERTIES = fc
  .dictionary(NAMES, VALUES)
  .map((properties) => JSON.parse(JSON.stringify(properties)) as Record<string, unknown>)

describe('properties of events in the console', () => {
  it('are read back as they are shown, and nothing in them is hidden', () => {
    fc.assert(
      fc.property(PROPERTIES, (properties) => {
        const text = visibleJson(properties)
        expect(parseProperties(text)).to.deep.equal({ properties })
        expect(text).to.not.match(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B-\u200F\u202A-\u202E]/)
      }),
    )
    expect(visibleJson({ name: 'evil\u202Etxt' })).to.equal('{\n  "name": "evil\\u202etxt"\n}')
  })

  it('are refused where a number would be sent as another one', () => {
    expect(parseProperties('{"a": 12345678901234567890}')).to.deep.equal({
      fault:
        '12345678901234567890 would be sent as 12345678901234567000: write that, or "12345678901234567890" as text',
    })
    for (const text of ['{"a": 1.0}', '{"a": [0.10]}', '{"a": {"b": 1e400}}', '{"a": 1E5}'])
      expect(parseProperties(text), text).to.have.property('fault')
    for (const text of ['{"a": "1.0"}', '{"1.0": 0.1}', '{"a": "\\"1.0", "b": -12.5}'])
      expect(parseProperties(text), text).to.have.property('properties')
  })

  it('are refused where they are no JSON object', () => {
    for (const text of ['', '{', '[]', 'null', '"a"', '1', '{a: 1}'])
      expect(parseProperties(text), text).to.have.property('fault')
  })

  it('filter where the API finds them by their value', () => {
    const chips = chipsOf({
      model: 'large',
      'gen_ai.model': 1.5,
      on: true,
      tags: ['a'],
      none: null,
      empty: '',
      'a b': 'c',
      long: '🧾'.repeat(501),
      longest: '🧾'.repeat(500),
    })
    expect(chips.filter(({ isFilter }) => isFilter).map(({ name, text }) => [name, text])).to.deep.equal([
      ['model', 'large'],
      ['gen_ai.model', '1.5'],
      ['on', 'true'],
      ['longest', '🧾'.repeat(500)],
    ])
    expect(chips.find(({ name }) => name === 'tags')?.text).to.equal('["a"]')
  })
})

describe('changes of an event in the console', () => {
  const event = fc.record({
    quantity: fc.constantFrom('1', '2.5', '-3'),
    properties: PROPERTIES,
  })

  it('turn the version before into the one after, and are none between equal ones', () => {
    fc.assert(
      fc.property(event, event, (before, after) => {
        const properties = new Map(Object.entries(before.properties))
        let { quantity } = before
        for (const change of eventChanges(before, after)) {
          expect(change.before).to.not.equal(change.after)
          const name = change.field.slice('property '.length)
          if (change.field === 'quantity') quantity = after.quantity
          else if (change.after === undefined) properties.delete(name)
          else properties.set(name, JSON.parse(change.after))
        }
        expect(quantity).to.equal(after.quantity)
        expect(Object.fromEntries(properties)).to.deep.equal(after.properties)
        expect(eventChanges(before, structuredClone(before))).to.deep.equal([])
      }),
    )
  })

  it('say that an event does not count any more', () => {
    const before = { quantity: '1', properties: {} }
    expect(eventChanges(before, { ...before, voided_at: 9 })).to.deep.equal([
      { field: 'counts', before: 'yes', after: 'no, it is voided' },
    ])
  })

  it('are stored once usage has the version of the answer, or a later one', () => {
    const answered = { quantity: '2', properties: { a: 1 }, corrected_at: 10 }
    expect(hasCorrection(answered, answered)).to.equal(true)
    expect(hasCorrection({ ...answered, corrected_at: 11, quantity: '3' }, answered)).to.equal(true)
    // A correction of the same second, which another one came after.
    expect(hasCorrection({ ...answered, quantity: '1' }, answered)).to.equal(false)
    expect(hasCorrection({ quantity: '2', properties: { a: 1 } }, answered)).to.equal(false)
  })
})
