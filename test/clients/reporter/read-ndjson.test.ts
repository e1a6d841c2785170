import { expect } from 'chai'
import { RECORD_BYTES_MAX, type WantedColumns } from '../../../clients/reporter/import/input-line.ts'
import { readNdjson } from '../../../clients/reporter/import/read-ndjson.ts'
import { collectLines, shortOf, streamOf } from './collect-lines.ts'

const AB: WantedColumns = { cells: ['a', 'b'], properties: [{ column: 'p', name: 'p' }] }

const read = (text: string | Buffer, wanted = AB) =>
  collectLines(readNdjson(streamOf(text, [1, 3, 7]), wanted))

const short = async (text: string | Buffer) => (await read(text)).map(shortOf)

describe('reading NDJSON', () => {
  it('takes text and numbers, LF and CR LF, a byte order mark, blank lines and a last line without an end', async () => {
    const text = '\uFEFF{"a":"x","b":1}\r\n\n{"b":-2.5,"a":"y"}\n  {"a":"z","b":null}'
    expect(await short(text)).to.deep.equal(['1: x|1', '3: y|-2.5', '4: z|'])
  })

  it('keeps every digit of a number', async () => {
    const numbers = ['9007199254740993', '0.30000000000000000001', '123456789012345678.9', '1e400']
    const lines = await read(numbers.map((number) => `{"a":"x","b":${number}}`).join('\n'))
    expect(lines.map((line) => 'cells' in line && line.cells[1])).to.deep.equal(numbers)
  })

  it('writes exponents out', async () => {
    expect(await short('{"a":1e21,"b":5e-7}')).to.deep.equal(['1: 1000000000000000000000|0.0000005'])
  })

  it('does not end a line at U+2028, which may stand in JSON', async () => {
    expect(await short('{"a":"x\u2028y","b":1}\n')).to.deep.equal(['1: x\u2028y|1'])
  })

  it('does not take digits within text for numbers', async () => {
    expect(
      await short('{"a":"9007199254740993 \\" 0.1234567890123456789","b":12345678901234567890}'),
    ).to.deep.equal(['1: 9007199254740993 " 0.1234567890123456789|12345678901234567890'])
  })

  it('leaves text that begins with a NUL as it is, so that Tally refuses it', async () => {
    const lines = await read('{"a":"\\u0000abc","b":1,"p":"\\u0000def"}')
    expect(lines.map((line) => 'cells' in line && [line.cells[0], line.properties])).to.deep.equal([
      ['\0abc', { p: '\0def' }],
    ])
  })

  it('does not find what every object has', async () => {
    const [line] = await read('{"x":1}', { cells: ['constructor', 'toString'], properties: [] })
    expect(line).to.have.deep.property('cells', [undefined, undefined])
  })

  it('keeps properties as they are, and leaves empty ones out', async () => {
    const lines = await read('{"a":1,"p":{"n":1.5,"t":[true]}}\n{"a":1,"p":null}\n{"a":1,"p":""}')
    expect(lines.map((line) => 'properties' in line && line.properties)).to.deep.equal([
      { p: { n: 1.5, t: [true] } },
      {},
      {},
    ])
  })

  it('names bad lines and goes on', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":1,\n[1]\nnull\n{"a":{"x":1}}\n{"a":1,"p":{"n":[0.1234567890123456789]}}\n{"a":"'),
      Buffer.from([0xfc]),
      Buffer.from('"}\n{"a":1.2.3}\n{"a":"good"}'),
    ])
    expect(await short(bytes)).to.deep.equal([
      '1! is not a JSON object',
      '2! is not a JSON object',
      '3! is not a JSON object',
      '4! a: is neither text nor a number',
      '5! p: holds a number that loses digits in a 64-bit float; write it as text',
      '6! holds bytes that are not UTF-8',
      '7! is not a JSON object',
      '8: good|',
    ])
  })

  it('does not gather a line that never ends', async () => {
    const long = `{"a":"${'x'.repeat(RECORD_BYTES_MAX)}"}`
    expect(await short(`${long}\n{"a":1}\n${long}`)).to.deep.equal([
      `1! is longer than ${RECORD_BYTES_MAX} bytes`,
      '2: 1|',
      `3! is longer than ${RECORD_BYTES_MAX} bytes`,
    ])
  })
})
