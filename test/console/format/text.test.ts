import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { csvText } from '../../../console/src/format/csv.ts'
import { curlOf } from '../../../console/src/format/curl.ts'
import { visibleText } from '../../../console/src/format/visible-text.ts'

describe('text that leaves the console', () => {
  it('is a CSV file that reads back, without formulas', () => {
    const texts = fc.oneof(
      fc.string().filter((text) => !text.includes("'")), // what is added for a formula is taken away below
      fc.constantFrom('=1+1', '+1', '-1', '@x', '\tx', '\rx', '\nx', '＝1', 'a,b', 'a"b', 'a\r\nb', 'a; =1'),
    )
    const unguarded = (cell: string) =>
      cell.replace(/^'(?=[\t\r\n])/, '').replaceAll(/(^|[;\t\r\n])'(?=\s*[=+\-@＝＋－＠])/g, '$1')
    fc.assert(
      fc.property(fc.array(fc.array(texts, { minLength: 2, maxLength: 2 }), { minLength: 1 }), (rows) => {
        const read = parse(csvText(rows), { bom: true, relax_column_count: true, record_delimiter: '\r\n' })
        expect(read.map((row) => row.map(unguarded))).to.deep.equal(rows)
        for (const cell of read.flat()) expect(cell).to.not.match(/(^|[;\t\r\n])\s*[=+\-@＝＋－＠]|^[\t\r\n]/)
      }),
    )
    // A spreadsheet that separates cells by semicolons sees no quotes within a cell.
    expect(csvText([['x;=1+1', 'y']])).to.equal("\uFEFFx;'=1+1,y\r\n")
  })

  it('has the numbers of the API as they are', () => {
    expect(csvText([['balance', { number: '-12.5' }]])).to.equal('\uFEFFbalance,-12.5\r\n')
  })

  it('is a command in which text stays text', () => {
    const body = { name: "it's $(rm -rf /)" }
    expect(curlOf('http://127.0.0.1:8080', { method: 'POST', target: '/v2/accounts', body })).to.equal(
      [
        'curl -s -H "x-api-key: $TALLY_KEY"',
        "-H 'Content-Type: application/json'",
        `-d '{"name":"it'\\''s $(rm -rf /)"}'`,
        "'http://127.0.0.1:8080/v2/accounts'",
      ].join(' \\\n  '),
    )
    expect(curlOf('http://h', { method: 'POST', target: '/v2/grants/x/void' })).to.include('-X POST')
    expect(curlOf('http://h', { method: 'GET', target: '/v2/accounts' })).to.not.include('-X')
    expect(curlOf('http://h', { method: 'DELETE', target: '/v2/test/clock' })).to.include('-X DELETE')
  })

  it('shows what cannot be seen', () => {
    expect(visibleText('a\u202Eb\nc\u0000d\u200Be\u007F')).to.equal('a⟨202E⟩b␊c␀d⟨200B⟩e␡')
    expect(visibleText('Ärger 🧾 日本')).to.equal('Ärger 🧾 日本')
  })
})
