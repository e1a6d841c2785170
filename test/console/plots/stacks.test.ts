import { expect } from 'chai'
import fc from 'fast-check'
import { sumDecimals } from '../../../console/src/format/decimal.ts'
import { prepareBars } from '../../../console/src/plots/prepare/bars.ts'
import { COLOURS, type Colours, keepColours } from '../../../console/src/plots/prepare/colours.ts'
import { type StackedUsage, stackOf } from '../../../console/src/plots/prepare/stacks.ts'

const DAY_S = 86_400
const NONE: Colours = new Map()

const series = (quantities: readonly string[]) => ({
  quantity: sumDecimals(quantities),
  periods: quantities.map((quantity, day) => ({ period_start_at: day * DAY_S, quantity })),
})
const sumOf = (rows: readonly (readonly string[])[], days: number): string[] =>
  Array.from({ length: days }, (_, day) => sumDecimals(rows.map((row) => row[day] ?? '0')))

/** An answer whose groups, rest and events without the property have these quantities by day. */
function usageOf(
  days: number,
  groups: readonly (readonly string[])[],
  rest: readonly string[] | undefined,
  without: readonly string[] | undefined,
): StackedUsage {
  const parts = [
    ...groups,
    ...(rest === undefined ? [] : [rest]),
    ...(without === undefined ? [] : [without]),
  ]
  return {
    aggregation: 'sum',
    property: 'model',
    total: series(sumOf(parts, days)),
    data: groups.map((quantities, at) => ({ account_id: null, value: `value ${at}`, ...series(quantities) })),
    rest: rest === undefined ? null : { groups: 3, ...series(rest) },
    without: without === undefined ? null : series(without),
  }
}

const DAYS = 4
const days = fc.array(
  fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.integer({ min: 0, max: 999 }))
    .map(([whole, thousandths]) => `${whole}.${String(thousandths).padStart(3, '0')}`),
  { minLength: DAYS, maxLength: DAYS },
)
const usages = fc
  .tuple(fc.array(days, { minLength: 1, maxLength: 12 }), fc.option(days), fc.option(days))
  .map(([groups, rest, without]) => usageOf(DAYS, groups, rest ?? undefined, without ?? undefined))

describe('stacks of usage', () => {
  it('add up to the total of each day, to the digit, however many groups there are', () => {
    fc.assert(
      fc.property(usages, (usage) => {
        const { rows, series: named } = stackOf(usage, String, NONE)
        expect(rows).to.have.length(DAYS)
        for (const [day, { values, total }] of rows.entries()) {
          expect(values).to.have.length(named.length)
          expect(sumDecimals(values.map((value) => value ?? '0'))).to.equal(
            sumDecimals([usage.total.periods?.[day]?.quantity ?? '0']),
          )
          expect(total).to.equal(usage.total.periods?.[day]?.quantity)
        }
      }),
    )
  })

  it('have at most eight groups with a colour, and then the rest and what has no value', () => {
    fc.assert(
      fc.property(usages, ({ data, rest, without, ...usage }) => {
        const { series: found } = stackOf({ data, rest, without, ...usage }, String, NONE)
        const beyond = Math.max(0, data.length - COLOURS) + (rest?.groups ?? 0)
        expect(found.filter(({ isRest, isWithout }) => isRest !== true && isWithout !== true)).to.have.length(
          Math.min(data.length, COLOURS),
        )
        expect(found.filter(({ isRest }) => isRest).map(({ name }) => name)).to.deep.equal(
          beyond === 0 ? [] : [beyond === 1 ? '1 other' : `${beyond} others`],
        )
        expect(found.filter(({ isWithout }) => isWithout)).to.have.length(without === null ? 0 : 1)
      }),
    )
  })

  it('are bars of the total alone where groups do not add up, with gaps', () => {
    const usage: StackedUsage = {
      ...usageOf(2, [['1', '2']], undefined, undefined),
      aggregation: 'avg',
      total: {
        quantity: '1.5',
        periods: [
          { period_start_at: 0, quantity: '1.5' },
          { period_start_at: DAY_S, quantity: null },
        ],
      },
    }
    const { series: named, rows } = stackOf(usage, String, NONE)
    expect(named.map(({ name }) => name)).to.deep.equal(['all'])
    expect(rows.map(({ values }) => values)).to.deep.equal([['1.5'], [null]])
    const { columns } = prepareBars(
      { series: named, days: rows.map(({ startAt, values }) => ({ startAt, values })) },
      { width: 600, height: 220 },
    )
    expect(columns.map(({ bars }) => bars.length)).to.deep.equal([1, 0])
  })
})

describe('colours of groups', () => {
  const keys = fc.uniqueArray(fc.constantFrom(...'abcdefghijklmnop'.split('')), { maxLength: 12 })

  it('are all different, and stay as long as a group is shown', () => {
    fc.assert(
      fc.property(fc.array(keys, { maxLength: 12 }), (answers) => {
        let colours = NONE
        for (const shown of answers) {
          const before = colours
          colours = keepColours(before, shown)
          const named = shown.slice(0, COLOURS)
          expect([...colours.keys()].sort()).to.deep.equal([...named].sort())
          const numbers = [...colours.values()]
          expect(new Set(numbers).size).to.equal(numbers.length)
          for (const number of numbers) expect(number).to.be.within(1, COLOURS)
          for (const key of named)
            if (before.has(key)) expect(colours.get(key), key).to.equal(before.get(key))
        }
      }),
    )
  })

  it('are the very map of before when nothing changes, whatever the ranks are', () => {
    const colours = keepColours(NONE, ['a', 'b', 'c'])
    expect(keepColours(colours, ['c', 'a', 'b'])).to.equal(colours)
  })
})
