import { expect } from 'chai'
import fc from 'fast-check'
import { formatTable } from '../../../shared/text/format-table.ts'
import { printable, printableJson, printableLines } from '../../../shared/text/printable.ts'

describe('text of others in a terminal', () => {
  it('shows what a terminal would obey, and what could not be seen, by its number', () => {
    for (const [text, shown] of [
      ['\ufeffat', '\\u{feff}at'],
      ['a\u200bb', 'a\\u{200b}b'],
      ['\u202eevil', '\\u{202e}evil'],
      ['\u001b[2J', '\\u{1b}[2J'],
      ['two\nlines\r', 'two\\u{a}lines\\u{d}'],
      ['\ud800', '\\u{d800}'],
      ['\u{e0041}', '\\u{e0041}'], // a letter for tags, which nothing draws
      ['\ue000', '\\u{e000}'], // of private use
    ])
      expect(printable(text ?? '')).to.equal(shown)
  })

  it('leaves everything else as it is', () => {
    for (const text of ['Müller & Söhne', '日本', '\u00a0\u3000', '🦑', 'e\u0301', '\\u{feff}', ''])
      expect(printable(text)).to.equal(text)
  })

  it('keeps lines apart where they are lines of ours', () => {
    expect(printableLines('one\ntwo\u202e')).to.equal('one\ntwo\\u{202e}')
  })

  it('comes out of JSON as it went in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = printableJson({ [text]: [text] })
        expect(json).to.equal(printable(json))
        expect(JSON.parse(json)).to.deep.equal({ [text]: [text] })
      }),
    )
    expect(printableJson(['\u{e0041}\u202e'])).to.equal('["\\udb40\\udc41\\u202e"]')
  })

  it('is as wide in a table as it is shown', () => {
    expect(
      formatTable(
        ['name', 'id'],
        [
          ['a\u202e', '1'],
          ['b', '2\n'],
        ],
      ),
    ).to.deep.equal(['name       id', 'a\\u{202e}  1', 'b          2\\u{a}'])
  })
})
