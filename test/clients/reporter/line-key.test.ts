import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { timeParser } from '../../../clients/core/parse-time.ts'
import { LineOrdinals } from '../../../clients/reporter/import/line-ordinals.ts'
import { type LineRules, lineToEvents, wantedCells } from '../../../clients/reporter/import/line-to-events.ts'
import { readCsv } from '../../../clients/reporter/import/read-csv.ts'
import { streamOf } from './collect-lines.ts'

const RULES: LineRules = {
  timeColumn: 'at',
  quantityColumns: ['in', 'out'],
  accountColumn: undefined,
  parseTime: timeParser('auto', 0),
  allowExponents: false,
  source: '',
}

/** The keys of every event of a file. */
async function keysOf(text: string, rules: Partial<LineRules> = {}): Promise<string[]> {
  const all = { ...RULES, ...rules }
  const ordinals = new LineOrdinals()
  const keys: string[] = []
  const lines = readCsv(
    streamOf(text),
    { cells: wantedCells(all), properties: [] },
    { delimiter: ',', header: true },
  )
  for await (const line of lines) {
    const events = 'fault' in line ? line : lineToEvents(line, all, ordinals)
    if ('fault' in events) throw new Error(events.fault)
    keys.push(...events.drafts.map(({ key }) => key))
  }
  return keys
}

const HEADER = 'at,in,out'
const fileOf = (lines: readonly string[], eol = '\n') => [HEADER, ...lines].join(eol)

const line = fc
  .tuple(fc.integer({ min: 1_700_000_000, max: 1_700_000_002 }), fc.nat({ max: 1 }), fc.nat({ max: 1 }))
  .map((cells) => cells.join(','))

describe('keys of imported lines', () => {
  it('are as they were when this was written: another way of making them would count everything again', async () => {
    expect(await keysOf(fileOf(['1700158623,1,2', '1700158623,1,2']))).to.deep.equal([
      'import-5ZAtYuOEsRb-nfK74Ps7W2vAbdXAsZTRUC8gCF5i7W8',
      'import-ajmSLDlhfLL96GledoAHy5V-joX0hKleLyQYEA2OyOg',
      'import-P0bsonsAxsGu3tF2CA35rDXDl9kGM3HThLibe05r73I',
      'import-idCWbAR5wQz72Q3TSfLhA_iKWykQvwT1QAw_WZAGmDQ',
    ])
  })

  it('are all different, equal lines and several quantities of one line included', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line), async (lines) => {
        const keys = await keysOf(fileOf(lines))
        expect(new Set(keys).size).to.equal(lines.length * 2)
      }),
    )
  })

  it('are the same in any order of the lines, with LF or CR LF, and without a last line end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .array(line)
          .chain((lines) =>
            fc.tuple(fc.constant(lines), fc.shuffledSubarray(lines, { minLength: lines.length })),
          ),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        async ([lines, shuffled], eol, ends) => {
          const keys = await keysOf(fileOf(lines))
          const again = await keysOf(fileOf(shuffled, eol) + (ends ? eol : ''))
          expect(again.sort()).to.deep.equal(keys.sort())
        },
      ),
    )
  })

  it('are the same for what a file had before it grew', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(line), async (lines, more) => {
        const keys = await keysOf(fileOf(lines))
        expect((await keysOf(fileOf([...lines, ...more]))).slice(0, keys.length)).to.deep.equal(keys)
      }),
    )
  })

  it('do not depend on the names of the columns', async () => {
    const text = fileOf(['1700158623,1,2'])
    const renamed = { timeColumn: 'x', quantityColumns: ['y', 'z'] }
    expect(await keysOf(text.replace(HEADER, 'x,y,z'), renamed)).to.deep.equal(await keysOf(text))
  })

  it('are others with another source, and cannot be made the same by clever names', async () => {
    const text = fileOf(['1700158623,1,2'])
    const keys = await Promise.all(['', 'a', '1:a', 'a1:1'].map((source) => keysOf(text, { source })))
    expect(new Set(keys.flat()).size).to.equal(8)
  })

  it('fit the 256 characters that Tally takes', async () => {
    for (const key of await keysOf(fileOf(['1700158623,1,2']), { source: 'x'.repeat(10_000) }))
      expect(key).to.have.length(50)
  })
})

describe('counting equal lines', () => {
  it('counts as a map does, through every growth of the table', () => {
    const ordinals = new LineOrdinals()
    const counts = new Map<number, number>()
    let repeated = 0
    for (let n = 0; n < 60_000; n++) {
      const which = n % 3 === 0 ? n % 1_000 : n
      const count = (counts.get(which) ?? 0) + 1
      counts.set(which, count)
      if (count > 1) repeated++
      expect(ordinals.next(createHash('sha256').update(String(which)).digest())).to.equal(count)
    }
    expect(ordinals.repeated).to.equal(repeated)
  })

  it('tells digests apart that fall into the same slot', () => {
    const ordinals = new LineOrdinals()
    const digest = (b: number, c: number) => {
      const bytes = Buffer.alloc(32)
      bytes.writeUInt32LE(b, 4)
      bytes.writeUInt32LE(c, 8)
      return bytes
    }
    expect(
      [digest(0, 0), digest(0, 1), digest(1, 0), digest(0, 0)].map((bytes) => ordinals.next(bytes)),
    ).to.deep.equal([1, 1, 1, 2])
  })
})
