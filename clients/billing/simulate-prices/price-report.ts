import {
  divideRatios,
  formatRatio,
  HUNDRED,
  isZeroRatio,
  multiplyRatios,
  parseRatio,
  roundHalfUp,
} from '../../../shared/amount/ratio.ts'
import { formatTable } from '../../../shared/text/format-table.ts'
import type { SchemaOf } from '../../contract.ts'

/** The width of bars and of the distribution, in characters. */
const WIDTH = 60
const BAR_WIDTH = 40

type SimulatedAccount = SchemaOf<'SimulatedAccount'>
type Totals = SchemaOf<'SimulationTotals'>
type Figures = Pick<SimulatedAccount, 'baseline' | 'candidate' | 'difference'>

const HEADINGS = ['baseline', 'candidate', 'difference', '']

/** Reports the totals of all accounts: a table, how many pay more and less, and the distribution of the differences. */
export const totalsReport = (totals: Totals): string[] => [
  ...formatTable(['', ...HEADINGS], [[accountsText(totals.accounts), ...cellsOf(totals)]], 1),
  ...(totals.in_other_currencies === 0
    ? []
    : [`left out, as they follow a card in another currency: ${accountsText(totals.in_other_currencies)}`]),
  '',
  ...changedReport(totals),
  '',
  ...distributionReport(totals.quantiles),
]

/** Lists the accounts whose bills would change most. If there are none, it lists nothing. */
export const largestReport = ({ largest }: Totals): string[] =>
  (
    [
      ['pay more', largest.increases],
      ['pay less', largest.decreases],
    ] as const
  ).flatMap(([title, accounts]) => (accounts.length === 0 ? [] : ['', ...accountsReport(accounts, title)]))

export const accountsReport = (accounts: readonly SimulatedAccount[], title = 'account'): string[] =>
  formatTable(
    [title, ...HEADINGS],
    accounts.map((account) => [account.account_id, ...cellsOf(account)]),
    1,
  )

const accountsText = (count: number): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? 'account' : 'accounts'}`

const cellsOf = ({ baseline, candidate, difference }: Figures): string[] => [
  grouped(baseline),
  grouped(candidate),
  signed(difference),
  percentText(difference, baseline),
]

/** Writes an exact decimal with its digits in groups of three. */
function grouped(text: string): string {
  const [integer = '', fraction] = text.split('.')
  const whole = integer.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? whole : `${whole}.${fraction}`
}

const signed = (text: string): string =>
  text.startsWith('-') || text === '0' ? grouped(text) : `+${grouped(text)}`

/** Writes a difference in percent of the baseline, to a tenth. The text is empty when the baseline is 0. */
function percentText(difference: string, baseline: string): string {
  const of = parseRatio(baseline)
  if (isZeroRatio(of)) return ''
  const percent = divideRatios(multiplyRatios(parseRatio(difference), HUNDRED), of)
  return `${signed(formatRatio(roundHalfUp(percent, 1)))} %`
}

function changedReport({ accounts, increased, decreased, unchanged }: Totals): string[] {
  const rows = [
    ['pay more', increased],
    ['pay less', decreased],
    ['pay the same', unchanged],
  ] as const
  const most = Math.max(1, increased, decreased, unchanged)
  const cells = rows.map(([name, count]) => [
    name,
    count.toLocaleString('en-US'),
    `${accounts === 0 ? 0 : Math.round((100 * count) / accounts)} %`,
  ])
  const table = formatTable(['', 'accounts', ''], cells, 1)
  const bars = ['', ...rows.map(([, count]) => bar(count, most))]
  return table.map((line, index) => `${line}  ${bars[index] ?? ''}`.trimEnd())
}

/** Draws a bar. For any count above 0 the bar has at least one character. */
const bar = (count: number, most: number): string =>
  '█'.repeat(count === 0 ? 0 : Math.max(1, Math.round((BAR_WIDTH * count) / most)))

/**
 * Draws a box plot from the 5th to the 95th percentile. The box is from the 25th to the 75th percentile, with a mark at
 * the 50th. Numbers are rounded only for the drawing.
 */
function distributionReport(quantiles: Totals['quantiles']): string[] {
  const { p5, p25, p50, p75, p95 } = quantiles
  const [low, high] = [Number(p5), Number(p95)]
  const placeOf = (text: string) =>
    high === low ? 0 : Math.round(((Number(text) - low) / (high - low)) * (WIDTH - 1))
  const [from, middle, to] = [placeOf(p25), placeOf(p50), placeOf(p75)]
  const end = high === low ? 0 : WIDTH - 1
  const drawing = Array.from({ length: end + 1 }, (_, place) => {
    if (place === middle) return '┃'
    if (place >= from && place <= to) return '█'
    return place === 0 ? '├' : place === end ? '┤' : '─'
  }).join('')
  const names = ['5 %', '25 %', 'half', '75 %', '95 %']
  const values = [p5, p25, p50, p75, p95].map(signed)
  return [
    'difference per account, and the share of accounts that are not above it',
    ...formatTable(names, [values], 0).map((line) => `  ${line}`),
    `  ${drawing}`,
  ]
}
