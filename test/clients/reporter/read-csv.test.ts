import { expect } from 'chai'
import fc from 'fast-check'
import { RECORD_BYTES_MAX, type WantedColumns } from '../../../clients/reporter/import/input-line.ts'
import { type CsvOptions, readCsv } from '../../../clients/reporter/import/read-csv.ts'
import { UsageError } from '../../../shared/errors/usage-error.ts'
import { collectLines, shortOf, streamOf } from './collect-lines.ts'

const AB: WantedColumns = { cells: ['a', 'b'], properties: [] }

const read = (text: string | Buffer, wanted = AB, options: Partial<CsvOptions> = {}, cuts: number[] = []) =>
  collectLines(readCsv(streamOf(text, cuts), wanted, { delimiter: ',', header: true, ...options }))

const short = async (...args: Parameters<typeof read>) => (await read(...args)).map(shortOf)

describe('reading CSV', () => {
  it('finds columns by name, wherever they are', async () => {
    expect(await short('x,b,a\n1,2,3\n')).to.deep.equal(['2: 3|2'])
  })

  it('finds columns by number when the first line is data', async () => {
    const wanted = { cells: ['3', '1'], properties: [{ column: '2', name: 'two' }] }
    const lines = await read('1,2,3\n4,5,6', wanted, { header: false })
    expect(lines.map(shortOf)).to.deep.equal(['1: 3|1', '2: 6|4'])
    expect(lines[1]).to.have.deep.property('properties', { two: '5' })
  })

  it('takes LF and CR LF, mixed, and a last line without an end', async () => {
    expect(await short('a,b\r\n1,2\n3,4\r\n5,6')).to.deep.equal(['2: 1|2', '3: 3|4', '4: 5|6'])
  })

  it('gives the same text for the same record, whatever ends its lines', async () => {
    const text = (eol: string) => `a,b${eol}1,"x${eol}y"${eol}3,4`
    const [lf, crlf] = [await read(text('\n')), await read(text('\r\n'))]
    expect(lf.map((line) => 'text' in line && line.text)).to.deep.equal(['1,"x\ny"', '3,4'])
    expect(crlf.map((line) => 'text' in line && line.text)).to.deep.equal(['1,"x\ny"', '3,4'])
  })

  it('passes over a byte order mark', async () => {
    expect(await short('\uFEFFa,b\n1,2')).to.deep.equal(['2: 1|2'])
    const [first] = await read('\uFEFF1,2\n', { cells: ['1'], properties: [] }, { header: false })
    expect(first).to.have.property('text', '1,2')
  })

  it('passes over several, at the start and where files were put together, so that a line stays the same', async () => {
    const two = '\uFEFF\uFEFF'
    expect(await short(`${two}a,b\n1,2`)).to.deep.equal(['2: 1|2'])
    expect(await short(`${two}"a","b"\n"1","2"`)).to.deep.equal(['2: 1|2'])
    const text = `a,b\n1,2\n${two}3,4\n`
    expect(await short(text)).to.deep.equal(['2: 1|2', '3: 3|4'])
    expect((await read(text))[1]).to.have.property('text', '3,4')
    expect(await short('a,b\n1,2\n\uFEFF"3","4"\n')).to.deep.equal([
      '2: 1|2',
      '3! begins with a byte order mark before a quote, as when two files were joined: remove the mark',
    ])
    expect(await short('a,b\n1,\uFEFF2\n')).to.deep.equal(['2: 1|\uFEFF2'])
  })

  it('passes over one that comes byte by byte', async () => {
    const cuts = [1, 2, 3, 4, 5, 6, 7]
    expect((await read('\uFEFF\uFEFFa,b\n1,2', AB, {}, cuts)).map(shortOf)).to.deep.equal(['2: 1|2'])
    // This begins like a byte order mark, but is none.
    expect(
      (await read('\uFEBFa,b\n1,2', { cells: ['b'], properties: [] }, {}, cuts)).map(shortOf),
    ).to.deep.equal(['2: 2'])
  })

  it('takes quoted cells with delimiters, quotes and line ends, and numbers lines by where records begin', async () => {
    const text = 'a,b\r\n"1,1","say ""x"""\r\n"2\r\n\r\n2",3\r\n4,5\r\n'
    expect(await short(text)).to.deep.equal(['2: 1,1|say "x"', '3-5: 2\r\n\r\n2|3', '6: 4|5'])
  })

  it('passes over empty lines, and still numbers the others as an editor does', async () => {
    expect(await short('a,b\r\n\r\n1,2\n\n\n3,4\n')).to.deep.equal(['3: 1|2', '6: 3|4'])
  })

  it('takes another delimiter', async () => {
    expect(await short('a\tb\n1,5\t2', AB, { delimiter: '\t' })).to.deep.equal(['2: 1,5|2'])
    expect(await short('a]b\n1]"2"', AB, { delimiter: ']' })).to.deep.equal(['2: 1|2'])
    expect(await short('a|b\n"1|1"|2', AB, { delimiter: '|' })).to.deep.equal(['2: 1|1|2'])
  })

  it('leaves empty properties out, and keeps odd names', async () => {
    const wanted = { cells: ['a'], properties: [{ column: 'b', name: '__proto__' }] }
    const lines = await read('a,b\n1,\n2,x', wanted)
    expect(lines.map((line) => 'properties' in line && JSON.stringify(line.properties))).to.deep.equal([
      '{}',
      '{"__proto__":"x"}',
    ])
  })

  it('names lines with too few or too many cells, and goes on', async () => {
    expect(await short('a,b\n1\n1,2,3\n4,5')).to.deep.equal([
      '2! has 1 cells where there should be 2',
      '3! has 3 cells where there should be 2',
      '4: 4|5',
    ])
  })

  it('names lines with a stray quote, and goes on at the next one', async () => {
    expect(await short('a,b\n5" screen,1\n"x"y,2\n3,"a"b"\n4,5\n')).to.deep.equal([
      '2! has a quote where none belongs',
      '3! has a quote where none belongs',
      '4! has a quote where none belongs',
      '5: 4|5',
    ])
  })

  it('names the line where a quote opens that is never closed', async () => {
    expect(await short('a,b\n1,2\n3,"x\n5,6\n')).to.deep.equal([
      '2: 1|2',
      '3! has a quote that is never closed; nothing from here on was read',
    ])
  })

  it('stops gathering a record that never ends', async () => {
    const tail = '",5\n6,7\n'.repeat(100_000) // where the parser could wrongly recover
    const lines = await short(
      `a,b\n1,2\n3,"${'x\n'.repeat(RECORD_BYTES_MAX)}${tail}`,
      AB,
      {},
      [2_000_000, 2_200_000],
    )
    expect(lines).to.have.length(2)
    expect(lines[1]).to.contain('3! is longer than')
  })

  it('names lines that are not UTF-8 where it matters', async () => {
    const text = Buffer.concat([
      Buffer.from('a,b,c\n1,Z'),
      Buffer.from([0xfc]),
      Buffer.from('rich,2\n3,4,\xff\n', 'latin1'),
    ])
    expect(await short(text)).to.deep.equal(['2! holds bytes that are not UTF-8', '3: 3|4'])
  })

  for (const [what, text, options] of [
    ['a column that is not there', 'a,c\n1,2', {}],
    ['a column that is there twice', 'a,b,b\n1,2,3', {}],
    ['an empty input', '', {}],
    ['a broken line of names', 'a,"b\n1,2', {}],
    ['names without a header', '1,2', { header: false }],
  ] as [string, string | Buffer, Partial<CsvOptions>][])
    it(`refuses ${what}`, async () => {
      const refusal: unknown = await read(text, AB, options).catch((err: unknown) => err)
      expect(refusal).to.be.instanceOf(UsageError)
    })

  it('gives back any table, however it is quoted and wherever the stream is cut', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '1', ',', '"', '\n', ' ', 'é'), maxLength: 6 })
    const row = fc.tuple(cell, cell)
    const eol = fc.constantFrom('\n', '\r\n')
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(row, eol), { minLength: 1 }),
        fc.array(fc.nat({ max: 200 })),
        async (rows, cuts) => {
          const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
          let text = 'a,b\n'
          let next = 2
          const expected = rows.map(([[a, b], end]) => {
            const record = `${quoted(a)},${quoted(b)}`
            text += record + end
            const line = next
            next += record.split('\n').length
            return { line, text: record, cells: [a, b] }
          })
          const lines = await read(text, AB, {}, cuts)
          expect(
            lines.map((line) => 'cells' in line && { line: line.line, text: line.text, cells: line.cells }),
          ).to.deep.equal(expected)
        },
      ),
    )
  })
})
