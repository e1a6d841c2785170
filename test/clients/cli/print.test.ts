import { expect } from 'chai'
import fc from 'fast-check'
import { barsOf } from '../../../clients/cli/src/bars.ts'
import { type Item, makePrinter } from '../../../clients/cli/src/print.ts'

const ID = `account_${'0'.repeat(32)}`
const HOSTILE = 'a\u001b[31mb\u202ec\u0007\nd\u009b2J'

function printed(columns: number | undefined, options: { json?: true }, shown: Item | Item[]) {
  const lines: string[] = []
  const notes: string[] = []
  const printer = makePrinter(
    {
      env: {},
      input: undefined as never,
      out: (line) => lines.push(line),
      err: (line) => notes.push(line),
      prompt: () => undefined,
      columns,
      signal: new AbortController().signal,
      now: () => 0,
    },
    options,
  )
  if (Array.isArray(shown)) printer.items(shown)
  else printer.object(shown)
  return { lines, notes }
}

describe('what tally prints', () => {
  const accounts = [
    { id: ID, external_id: 'acme', name: 'Acme', created_at: 1_700_000_000, archived_at: null },
    { id: ID, external_id: HOSTILE, name: HOSTILE, created_at: 0, archived_at: null },
  ]

  it('has one line of JSON for each item, where no terminal shows it', () => {
    const { lines, notes } = printed(undefined, {}, accounts)
    expect(lines.map((line) => JSON.parse(line) as object)).to.deep.equal(accounts)
    expect(notes).to.deep.equal([])
  })

  it('has only columns that fit, and names the others', () => {
    for (const columns of [20, 60, 80, 120, 300]) {
      const { lines, notes } = printed(columns, {}, accounts)
      expect(lines).to.have.length(3)
      const width = Math.max(...lines.map((line) => line.length))
      expect(width).to.be.at.most(Math.max(columns, ID.length))
      expect(lines[0]).to.match(/^id/)
      expect(notes.length).to.equal(columns === 300 ? 0 : 1)
    }
    expect(printed(20, {}, accounts).notes[0]).to.equal(
      'not shown: name, external_id, created_at; a wider terminal or --json shows them',
    )
    expect(printed(300, {}, accounts).lines[0]).not.to.include('archived_at')
  })

  it('is never executed by a terminal', () => {
    const item = {
      ...accounts[1],
      [HOSTILE]: HOSTILE,
      inner: { [HOSTILE]: [HOSTILE] },
      list: [{ a: HOSTILE }],
    }
    for (const columns of [undefined, 80, 1_000])
      for (const options of [{}, { json: true as const }])
        for (const shown of [[item], item]) {
          const { lines, notes } = printed(columns, options, shown)
          for (const line of [...lines, ...notes]) expect(line).to.match(/^[^\p{C}]*$/u)
        }
  })

  it('shows times as text that options take, and amounts as they came', () => {
    const amount = '12345678901234567890.123456789012345678'
    const balance = {
      balance: amount,
      as_of: 1_795_897_800,
      currency: null,
      count: 3,
      period: { start_at: 0 },
    }
    expect(printed(80, {}, balance).lines).to.deep.equal([
      `balance          ${amount}`,
      'as_of            2026-11-28T20:30:00Z',
      'currency',
      'count            3',
      'period.start_at  1970-01-01T00:00:00Z',
    ])
  })

  it('has bars as long as exact amounts', () => {
    expect(barsOf(['0', '-1', '1', '2'], 1)).to.deep.equal(['', '', '▌', '█'])
    expect(barsOf(['0.000000000000000001', '99999999999999999999'], 4)).to.deep.equal(['▏', '████'])
    // Floats take both for equal.
    expect(barsOf(['99999999999999999999.000000000000000001', '99999999999999999999'], 2)).to.deep.equal([
      '██',
      '█▉',
    ])
    expect(barsOf([], 4)).to.deep.equal([])
  })

  it('has bars in the order of the amounts, and none that is longer than the room', () => {
    const amount = fc
      .tuple(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.nat(999_999))
      .map(([whole, part]) => `${whole}.${part}`)
    fc.assert(
      fc.property(
        fc.array(amount, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 200 }),
        (amounts, width) => {
          const sizes = barsOf(amounts, width).map((bar) =>
            Array.from(bar).reduce(
              (sum, block) => sum + (block === '█' ? 8 : '▏▎▍▌▋▊▉'.indexOf(block) + 1),
              0,
            ),
          )
          for (const [index, size] of sizes.entries()) {
            expect(size).to.be.at.most(width * 8)
            expect(size > 0).to.equal(/^[^-]*[1-9]/.test(amounts[index] ?? ''))
          }
          const whole = (at: number) => BigInt((amounts[at] ?? '0').split('.')[0] ?? '0')
          for (let a = 0; a < sizes.length; a++)
            for (let b = 0; b < sizes.length; b++)
              if (whole(a) > whole(b)) expect(sizes[a]).to.be.at.least(sizes[b] ?? 0)
        },
      ),
      { numRuns: 200 },
    )
  })
})
