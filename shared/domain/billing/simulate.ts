import { compareRatios, type Ratio, RATIO_ZERO, subtractRatios, sumRatios } from '../../amount/ratio.ts'
import type { TimeRange } from '../time-range.ts'
import type { UsageSource } from '../usage-source.ts'
import type { CardLine } from './contract.ts'
import { boundary, type Cadence } from './periods.ts'
import type { Prices } from './price.ts'
import type { Rate } from './rate.ts'
import { chargeCardLine, type InvoiceLine, type UsageRow } from './rate-usage.ts'

/** One way of rating an account: a card line, with its overrides and discount, and the card's rates. */
export interface SimulatedCard {
  line: CardLine
  /** The rates for all periods, in the order of an invoice: see ratesInForce. */
  rates: readonly Rate[]
}

/** An account's usage in a period. */
export interface SimulatedPeriod extends TimeRange {
  rowsBySource: ReadonlyMap<UsageSource, readonly UsageRow[]>
}

/** The amounts that an account would pay under each of two ways of rating, without contract minimums and credit. */
export interface SimulatedAccount {
  accountId: string
  baseline: Ratio
  candidate: Ratio
  /** Candidate minus baseline. */
  difference: Ratio
}

export interface SimulationTotals {
  accounts: number
  baseline: Ratio
  candidate: Ratio
  difference: Ratio
  increased: number
  decreased: number
  unchanged: number
  /** Quantiles of the differences. */
  quantiles: Record<QuantileName, Ratio>
  /** The accounts with the greatest increases and with the greatest decreases, at most 20 of each. */
  largest: { increases: SimulatedAccount[]; decreases: SimulatedAccount[] }
}

type QuantileName = 'p5' | 'p25' | 'p50' | 'p75' | 'p95'

const QUANTILES: readonly (readonly [QuantileName, number])[] = [
  ['p5', 5],
  ['p25', 25],
  ['p50', 50],
  ['p75', 75],
  ['p95', 95],
]

const LARGEST_MAX = 20

/**
 * The periods in which a range of time is rated, one after the other.
 *
 * @param cadence the length of the periods. Without a cadence there is one period. The first period begins at the start
 *   of the range, and the last period ends at its end
 */
export function simulatedPeriods({ startAt, endAt }: TimeRange, cadence: Cadence | undefined): TimeRange[] {
  if (cadence === undefined) return [{ startAt, endAt }]
  const periods: TimeRange[] = []
  for (let k = 0, from = startAt; from < endAt; k++) {
    const to = Math.min(boundary({ anchorAt: startAt, cadence }, k + 1), endAt)
    periods.push({ startAt: from, endAt: to })
    from = to
  }
  return periods
}

/**
 * The lines of one way of rating, period by period. Every period counts as a whole period, even if the line begins
 * later or ends earlier.
 *
 * @param card undefined if nothing is charged
 */
export function simulateLines(
  card: SimulatedCard | undefined,
  periods: readonly SimulatedPeriod[],
  prices: Prices,
  minorUnits: number,
): InvoiceLine[] {
  if (card === undefined) return []
  const { line, rates } = card
  const lines: InvoiceLine[] = []
  for (const { startAt, endAt, rowsBySource } of periods) {
    const share = { seconds: endAt - startAt, of: endAt - startAt }
    const piece = { line, rates, startAt, endAt, share }
    lines.push(...chargeCardLine(piece, rowsBySource, prices, minorUnits).lines)
  }
  return lines
}

/** Compares the amount that an account pays with the amount that it would pay. */
export function compareLines(
  accountId: string,
  baselineLines: readonly InvoiceLine[],
  candidateLines: readonly InvoiceLine[],
): SimulatedAccount {
  const baseline = sumRatios(baselineLines.map(({ amount }) => amount))
  const candidate = sumRatios(candidateLines.map(({ amount }) => amount))
  return { accountId, baseline, candidate, difference: subtractRatios(candidate, baseline) }
}

/** The totals of all accounts. */
export function simulationTotals(accounts: readonly SimulatedAccount[]): SimulationTotals {
  const rising = accounts.toSorted(
    (a, b) => compareRatios(a.difference, b.difference) || (a.accountId < b.accountId ? -1 : 1),
  )
  const increases = rising.filter(({ difference }) => compareRatios(difference, RATIO_ZERO) > 0).reverse()
  const decreases = rising.filter(({ difference }) => compareRatios(difference, RATIO_ZERO) < 0)
  const baseline = sumRatios(accounts.map((account) => account.baseline))
  const candidate = sumRatios(accounts.map((account) => account.candidate))
  return {
    accounts: accounts.length,
    baseline,
    candidate,
    difference: subtractRatios(candidate, baseline),
    increased: increases.length,
    decreased: decreases.length,
    unchanged: accounts.length - increases.length - decreases.length,
    quantiles: Object.fromEntries(
      QUANTILES.map(([name, percent]) => [name, quantile(rising, percent)]),
    ) as Record<QuantileName, Ratio>,
    largest: { increases: increases.slice(0, LARGEST_MAX), decreases: decreases.slice(0, LARGEST_MAX) },
  }
}

/** A quantile by nearest rank, so it is always the difference of some account. 0 without accounts. */
function quantile(rising: readonly SimulatedAccount[], percent: number): Ratio {
  const rank = Math.max(1, Math.ceil((rising.length * percent) / 100))
  return rising[rank - 1]?.difference ?? RATIO_ZERO
}
