import { DomainError } from '../../errors/domain-error.ts'
import { intersect, type TimeRange } from '../time-range.ts'
import type { CardLine, Contract, ContractLine, CreditLine } from './contract.ts'
import { type NamedValues, namedValues } from './named-values.ts'
import { periodAt } from './periods.ts'
import { contractRange, pieceOf, type Share, shareOf } from './pieces.ts'
import { pricesOfRate, type Rate } from './rate.ts'
import { byStart, isOpenAt } from './timeline-change.ts'

/** A contract's line within a period. */
export interface Piece<L extends ContractLine = ContractLine> extends TimeRange {
  line: L
  share: Share
  /** Of a card line: those in force when the piece begins, in the order of the invoice; else none. */
  rates: readonly Rate[]
}

/** Usage that must be read to rate a contract's period. */
export interface UsageWanted {
  /** All sources of the account in each of these ranges; `piece` is its number within the plan's pieces. */
  ranges: readonly ({ piece: number } & TimeRange)[]
  /** What usage must be told apart by; a source that is absent needs no properties. */
  named: NamedValues
}

/** What an invoice preview is made of, before anything is read. All instants in Unix seconds. */
export interface InvoicePlan {
  contract: Contract
  /** From boundary to boundary. */
  fullPeriod: TimeRange
  /** What of it the contract is in force. */
  period: TimeRange
  /** Usage counts that occurred before. */
  asOf: number
  /** In the order of the invoice. */
  pieces: readonly Piece[]
  usage: UsageWanted
  /** Credit counts as it was then: grants and usage in the contract's currency before it. */
  creditBefore: number
  /** Those that may have grants due before then which are not yet written. */
  creditLines: readonly CreditLine[]
}

interface PlanRequest {
  /** The period that this second lies in. */
  at: number
  asOf: number
}

/**
 * What must be read and rated for a period of a contract.
 *
 * @param rateCards all rates, ever, of each card that a line follows, by the card's id
 * @throws DomainError unprocessable when the second lies outside the contract
 * @throws Error when a card is missing: a bug of whoever read them
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
 * The second that is meant when none is named: now, the first of a contract that is to begin, or the last of one that
 * is over. All in Unix seconds.
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

/** A card's rates at a second, in the order of the invoice. */
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
    // What a piece is rated by is fixed the second it begins: a price that changes later splits no line.
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

/** Those of card lines: also of a card without rates, as usage that no rate reaches is told. */
const rangesOf = (pieces: readonly Piece[], asOf: number): UsageWanted['ranges'] =>
  pieces.flatMap((piece, index) => {
    const range = intersect(piece, { startAt: -Infinity, endAt: asOf })
    return piece.line.kind === 'card' && range ? [{ piece: index, ...range }] : []
  })
