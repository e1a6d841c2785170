import { DomainError } from '../../errors/domain-error.ts'
import { intersect, type TimeRange } from '../time-range.ts'
import type { CardLine, Contract, ContractLine, CreditLine } from './contract.ts'
import { type NamedValues, namedValues } from './named-values.ts'
import { periodAt } from './periods.ts'
import { contractRange, pieceOf, type Share, shareOf } from './pieces.ts'
import { pricesOfRate, type Rate } from './rate.ts'
import { byStart, isOpenAt } from './timeline-change.ts'

/** The part of a period in which a contract's line is in force. */
export interface Piece<L extends ContractLine = ContractLine> extends TimeRange {
  line: L
  share: Share
  /** For a card line, the rates in force when the piece begins, in the order of the invoice. Empty for other lines. */
  rates: readonly Rate[]
}

/** The usage that must be read to rate a contract's period. */
export interface UsageWanted {
  /** The ranges in which usage of all sources of the account is read; `piece` is an index of the plan's `pieces`. */
  ranges: readonly ({ piece: number } & TimeRange)[]
  /** The values by which usage must be split. Usage of a source without an entry is not split. */
  named: NamedValues
}

/** The plan of an invoice preview. It is made before usage, prices and credit are read. All times are Unix seconds. */
export interface InvoicePlan {
  contract: Contract
  /** The whole period, from boundary to boundary. */
  fullPeriod: TimeRange
  /** The part of `fullPeriod` in which the contract is in force. */
  period: TimeRange
  /** Only usage that occurred before this time counts. */
  asOf: number
  /** In the order of the invoice. */
  pieces: readonly Piece[]
  usage: UsageWanted
  /** Credit is computed as of this time, from grants and usage in the contract's currency before it. */
  creditBefore: number
  /** The credit lines in the contract's currency. Some of their grants before `creditBefore` may not be stored yet. */
  creditLines: readonly CreditLine[]
}

interface PlanRequest {
  /** A second in the period. */
  at: number
  asOf: number
}

/**
 * Plans which data must be read, and which pieces must be rated, for a period of a contract.
 *
 * @param rateCards all rates that a card ever had, by the card's id, for each card that a line uses
 * @throws DomainError unprocessable when `at` lies outside the contract
 * @throws Error when a card is missing: a bug of the caller
 */
export function planInvoice(
  contract: Contract,
  rateCards: ReadonlyMap<string, readonly Rate[]>,
  { at, asOf }: PlanRequest,
): InvoicePlan {
  const inForce = contractRange(contract)
  const fullPeriod = periodAt(contract, at)
  const period = intersect(fullPeriod, inForce)
  if (period === undefined || at < period.startAt || at >= period.endAt)
    throw new DomainError(
      'unprocessable',
      `at lies outside the contract, which runs from ${inForce.startAt} ${Number.isFinite(inForce.endAt) ? `to ${inForce.endAt}` : 'on'}`,
    )
  const pieces = piecesOf(contract, rateCards, fullPeriod)
  return {
    contract,
    fullPeriod,
    period,
    asOf,
    pieces,
    usage: { ranges: rangesOf(pieces, asOf), named: namedValues(pieces.flatMap(({ rates }) => rates)) },
    creditBefore: Math.min(period.endAt, asOf),
    creditLines: contract.lines.filter(
      (line): line is CreditLine => line.kind === 'credit' && line.source === contract.currency,
    ),
  }
}

/**
 * The default for `at`: now; the contract's first second if it has not begun; its last second if it is over. All are
 * Unix seconds.
 */
export function defaultSecond(contract: Contract, now: number): number {
  const { startAt, endAt } = contractRange(contract)
  return Math.min(Math.max(now, startAt), endAt - 1)
}

/** The ids of all prices that a plan may need, each once. */
export const pricesOf = ({ pieces }: InvoicePlan): string[] => [
  ...new Set(
    pieces.flatMap(({ line, rates }) => {
      if (line.kind === 'price') return [line.priceId]
      if (line.kind !== 'card') return []
      return [...rates.flatMap(pricesOfRate), ...line.priceOverrides.map(({ priceId }) => priceId)]
    }),
  ),
]

/** The rates of a card that are in force at a second, in the order of the invoice. */
export const ratesInForce = (rates: readonly Rate[], second: number): Rate[] =>
  rates.filter((rate) => isOpenAt(rate, second)).toSorted(byStart)

function piecesOf(
  contract: Contract,
  rateCards: ReadonlyMap<string, readonly Rate[]>,
  fullPeriod: TimeRange,
): Piece[] {
  const pieces: Piece[] = []
  for (const line of contract.lines.toSorted(byStart)) {
    const range = pieceOf(line, contract, fullPeriod)
    if (range === undefined) continue
    // A piece is rated by the rates in force in its first second. A later change of the card does not split the line.
    const rates = line.kind === 'card' ? ratesInForce(ratesOf(line, rateCards), range.startAt) : []
    pieces.push({ line, ...range, share: shareOf(range, fullPeriod), rates })
  }
  return pieces
}

function ratesOf(line: CardLine, rateCards: ReadonlyMap<string, readonly Rate[]>): readonly Rate[] {
  const rates = rateCards.get(line.rateCardId)
  if (rates === undefined) throw new Error(`rate card ${line.rateCardId} was not read`)
  return rates
}

/** The ranges of card lines. Cards without rates are included, because invoices report usage that no rate matches. */
const rangesOf = (pieces: readonly Piece[], asOf: number): UsageWanted['ranges'] =>
  pieces.flatMap((piece, index) => {
    const range = intersect(piece, { startAt: -Infinity, endAt: asOf })
    return piece.line.kind === 'card' && range ? [{ piece: index, ...range }] : []
  })
