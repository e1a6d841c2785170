import { expect } from 'chai'
import fc from 'fast-check'
import { canonicalJson, isSameJson } from '../../../shared/domain/canonical-json.ts'
import { checkProperties, type Properties } from '../../../shared/domain/properties.ts'

/** Names of fields, including those that JavaScript treats specially. */
const name = fc.oneof(
  fc.constantFrom('2', '10', '01', '-1', '4294967294', '4294967295', '9007199254740993', '', ' ', 'a', 'aa'),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'length', 'ü', '😀', '\ufb03'),
  fc.string({ maxLength: 3 }),
)

/** JSON in which objects are lists of fields, so that any order of fields can be written. */
type Node = { fields: [string, Node][] } | { items: Node[] } | { leaf: string }
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'json' },
    fc.constantFrom('1', '-0', '1.50', '1e2', 'true', 'null', '"x"', '"2"').map((leaf) => ({ leaf })),
    fc
      .uniqueArray(fc.tuple(name, tie('node')), {
        maxLength: 6,
        selector: ([key]) => key,
        depthIdentifier: 'json',
      })
      .map((fields) => ({ fields })),
    fc.array(tie('node'), { maxLength: 12, depthIdentifier: 'json' }).map((items) => ({ items })),
  ),
}))
const object = fc
  .uniqueArray(fc.tuple(name, node), { maxLength: 6, selector: ([key]) => key })
  .map((fields): Node => ({ fields }))

function textOf(written: Node, order: (count: number) => number[]): string {
  if ('leaf' in written) return written.leaf
  if ('items' in written) return `[${written.items.map((item) => textOf(item, order)).join(',')}]`
  const fields = order(written.fields.length).map((at) => written.fields[at] as [string, Node])
  return `{${fields.map(([key, value]) => `${JSON.stringify(key)}:${textOf(value, order)}`).join(',')}}`
}

const asWritten = (count: number) => Array.from({ length: count }, (_, n) => n)
const reversed = (count: number) => asWritten(count).reverse()
const rotated = (count: number) => asWritten(count).map((n) => (n + 1) % count)

/** Whether JavaScript treats a name as an array index. */
const isPlace = (text: string) => String(Number(text) >>> 0) === text && Number(text) < 2 ** 32 - 1

describe('JSON in its one form', () => {
  it('is the same for every order of fields, at every level, and says what the text says', () => {
    fc.assert(
      fc.property(object, (written) => {
        const texts = [asWritten, reversed, rotated].map((order) => textOf(written, order))
        const forms = new Set(texts.map((text) => canonicalJson(JSON.parse(text))))
        expect(forms.size, texts[0]).to.equal(1)
        const [form = ''] = forms
        expect(JSON.stringify(JSON.parse(form)), 'read and written again').to.equal(form)
        expect(JSON.parse(form)).to.deep.equal(JSON.parse(JSON.stringify(JSON.parse(texts[0] ?? ''))))
      }),
      { numRuns: 500 },
    )
  })

  it('puts whole numbers first, by size, then names by their UTF-16 code units', () => {
    const text = '{"b":1,"10":2,"__proto__":{"z":1,"y":2},"2":3,"a":[{"d":1,"c":2},3,"x"],"B":4,"01":5,"ü":6}'
    expect(canonicalJson(JSON.parse(text))).to.equal(
      '{"2":3,"10":2,"01":5,"B":4,"__proto__":{"y":2,"z":1},"a":[{"c":2,"d":1},3,"x"],"b":1,"ü":6}',
    )
  })

  it('is the same for many names as for few', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 15, maxLength: 60 }), (names) => {
        const textIn = (order: string[]) => `{${order.map((one) => `${JSON.stringify(one)}:1`).join(',')}}`
        const form = canonicalJson(JSON.parse(textIn(names)))
        const others = Object.keys(JSON.parse(form) as object).filter((one) => !isPlace(one))
        expect(others).to.deep.equal([...others].sort())
        expect(canonicalJson(JSON.parse(textIn(names.toReversed())))).to.equal(form)
      }),
    )
  })

  it('is compared by what it says', () => {
    expect(isSameJson('{"a":1,"b":{"c":1,"d":2}}', '{"b":{"d":2,"c":1},"a":1}')).to.equal(true)
    expect(isSameJson('{"a":[1,2]}', '{"a":[2,1]}')).to.equal(false)
    expect(isSameJson('{"a":1}', '{"a":"1"}')).to.equal(false)
    expect(isSameJson('{}', '{"__proto__":1}')).to.equal(false)
  })
})

describe('properties, as they are kept', () => {
  const kept = (properties: Properties): string => {
    const checked = checkProperties(properties)
    if ('fault' in checked) throw new Error(checked.fault)
    return checked.json
  }

  it('are the same text for every order of fields', () => {
    fc.assert(
      fc.property(object, (written) => {
        const form = canonicalJson(JSON.parse(textOf(written, asWritten)))
        for (const order of [asWritten, reversed, rotated])
          expect(kept(JSON.parse(textOf(written, order)) as Properties)).to.equal(form)
      }),
      { numRuns: 500 },
    )
  })

  it('are as they were sent when their fields are in order already', () => {
    const text = '{"a":1,"b":[3,2,1,10,9,{"c":1,"d":2}],"é":"x"}'
    expect(kept(JSON.parse(text) as Properties)).to.equal(text)
  })
})
