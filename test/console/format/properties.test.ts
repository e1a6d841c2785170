import { expect } from 'chai'
import { propertiesText, seenProperties } from '../../../console/src/format/properties.ts'

describe('properties that were seen', () => {
  it('are those of most events first, with a few of their values as the API writes them', () => {
    const events = [
      { properties: { model: 'large', tries: 3 } },
      { properties: { model: 'small', tries: 1e21, tags: ['a'] } },
      { properties: { model: 'large', 'a b': true } },
    ]
    expect(seenProperties(events)).to.deep.equal([
      { name: 'model', events: 3, values: ['large', 'small'], isSearchable: true },
      { name: 'tries', events: 2, values: ['3', '1e+21'], isSearchable: true },
      { name: 'a b', events: 1, values: ['true'], isSearchable: false },
      { name: 'tags', events: 1, values: [], isSearchable: true },
    ])
  })

  it('have at most five values each', () => {
    const events = Array.from({ length: 9 }, (_, at) => ({ properties: { id: `${at}` } }))
    expect(seenProperties(events)[0]?.values).to.deep.equal(['0', '1', '2', '3', '4'])
  })

  it('are a line that says how many are left out', () => {
    expect(propertiesText({ model: 'large', tags: ['a'], tries: 3 })).to.equal(
      'model: large, tags: …, tries: 3',
    )
    const many = Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`p${at}`, at]))
    expect(propertiesText(many)).to.equal('p0: 0, p1: 1, p2: 2, p3: 3, p4: 4, 2 more')
  })
})
