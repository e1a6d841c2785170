import {
  addRatios,
  maxRatio,
  multiplyRatios,
  parseRatio,
  type Ratio,
  RATIO_ZERO,
  roundHalfUp,
  subtractRatios,
  sumRatios,
} from '../../amount/ratio.ts'
import { findIsoCurrency } from '../iso-currency.ts'
import type { TimeRange } from '../time-range.ts'
import type { CardLine, PriceLine } from './contract.ts'
import { creditsDue } from './contract-credits.ts'
import { type ContractStatus, contractStatus } from './contract-status.ts'
import { applyCredit, type Credit, type CreditGrant, hasCredit } from './credit.ts'
import { periodAt } from './periods.ts'
import { shareRatio } from './pieces.ts'
import type { InvoicePlan, Piece } from './plan.ts'
import type { Prices } from './price.ts'
import {
  type InvoiceLine,
  rateCardLine,
  type RatedPiece,
  ratePriceLine,
  type Unrated,
  type UsageRow,
  type Warning,
} from './rate-usage.ts'

/** The data that was read for a plan. */
export interface InvoiceReadings {
  /** The usage in the plan's ranges, by the index of the piece; a piece without an entry has no usage. */
  usage: ReadonlyMap<number, readonly UsageRow[]>
  /**
   * All usage in the contract's currency that occurred before the plan's `creditBefore`. When currencyUsageBefore
   * returns 0, this value does not change the invoice.
   */
  currencyUsage: Ratio
  /**
   * The account's grants in the contract's currency. Grants that are not in force just before the plan's `creditBefore`
   * are ignored.
   */
  grants: readonly CreditGrant[]
  /**
   * For each of the plan's credit lines, the start of the period of its newest stored grant, even if that grant was
   * voided later.
   */
  creditsWritten: NewestCredits
  /** In Unix seconds. Every event that was accepted before this time is counted. */
  usageAsOf: number
}

/** The invoice of a contract's period. Times are in Unix seconds, amounts in the contract's currency. */
export interface Invoice extends Credit {
  contractId: string
  accountId: string
  currency: string
  status: ContractStatus
  /** The part of the whole period in which the contract is in force. */
  period: TimeRange
  fullPeriod: TimeRange
  asOf: number
  usageAsOf: number
  lines: InvoiceLine[]
  /** The sum of the rounded amounts of the lines, so that the printed amounts add up. */
  subtotal: Ratio
  /** The amount that the contract's minimum adds to the subtotal. */
  minimumAdjustment: Ratio
  /** Before tax. */
  total: Ratio
  unrated: Unrated[]
  warnings: Warning[]
}

/**
 * For each credit line, the start of the whole period that its newest stored grant is for. The grants of all earlier
 * periods are stored, too.
 */
export type NewestCredits = ReadonlyMap<string, number>

/**
 * Rates a period. The preview of one invoice and the list of invoices both use this function.
 *
 * @param now in Unix seconds; used only for the status
 * @throws Error when a price that the plan needs is missing, or the currency has no minor units. Both were checked when
 *   the contract was stored
 */
export function invoiceOf(
  plan: InvoicePlan,
  prices: Prices,
  readings: InvoiceReadings,
  now: number,
): Invoice {
  const { contract, pieces } = plan
  const minorUnits = minorUnitsOf(contract.currency)
  const rated = pieces.map((piece, index) =>
    ratePiece(piece, readings.usage.get(index) ?? [], prices, minorUnits),
  )
  const lines = rated.flatMap((piece) => piece.lines)
  const subtotal = sumRatios(lines.map(({ amount }) => amount))
  const minimum = roundHalfUp(sumRatios(pieces.map(minimumOf)), minorUnits)
  const minimumAdjustment = maxRatio(RATIO_ZERO, subtractRatios(minimum, subtotal))
  const total = addRatios(subtotal, minimumAdjustment)
  return {
    contractId: contract.id,
    accountId: contract.accountId,
    currency: contract.currency,
    status: contractStatus(contract, now),
    period: plan.period,
    fullPeriod: plan.fullPeriod,
    asOf: plan.asOf,
    usageAsOf: readings.usageAsOf,
    lines,
    subtotal,
    minimumAdjustment,
    total,
    ...applyCredit({
      total,
      grants: grantsOf(plan, readings),
      usage: readings.currencyUsage,
      before: plan.creditBefore,
      minorUnits,
    }),
    unrated: addUnrated(rated.flatMap(({ unrated }) => unrated)),
    warnings: rated.flatMap(({ warnings }) => warnings),
  }
}

/** @throws Error when amounts of the currency cannot be rounded */
export function minorUnitsOf(currency: string): number {
  const minorUnits = findIsoCurrency(currency)?.minorUnits ?? null
  if (minorUnits === null) throw new Error(`${currency} has no minor units`)
  return minorUnits
}

function ratePiece(piece: Piece, rows: readonly UsageRow[], prices: Prices, minorUnits: number): RatedPiece {
  switch (piece.line.kind) {
    case 'card':
      return rateCardLine(piece as Piece<CardLine>, rows, prices, minorUnits)
    case 'price':
      return {
        lines: ratePriceLine(piece as Piece<PriceLine>, prices, minorUnits),
        unrated: [],
        warnings: [],
      }
    case 'minimum':
    case 'credit':
      return { lines: [], unrated: [], warnings: [] }
  }
}

const minimumOf = ({ line, share }: Piece): Ratio =>
  line.kind === 'minimum' ? multiplyRatios(parseRatio(line.minimumAmount), shareRatio(share)) : RATIO_ZERO

/** The readings that decide which grants an invoice is paid from. */
type GrantReadings = Pick<InvoiceReadings, 'grants' | 'creditsWritten'>

/**
 * The time, in Unix seconds, before which usage in the contract's currency must be read. It is 0 when there is no
 * credit that such usage could use up.
 */
export const currencyUsageBefore = (plan: InvoicePlan, readings: GrantReadings): number =>
  hasCredit(grantsOf(plan, readings), plan.creditBefore) ? plan.creditBefore : 0

const grantsOf = (plan: InvoicePlan, { grants, creditsWritten }: GrantReadings): CreditGrant[] => [
  ...grants,
  ...creditsToCome(plan, creditsWritten),
]

/**
 * Grants that are due but not stored yet, with the amounts and times that they will have when they are stored. So the
 * invoice is the same before and after the grants are stored. Expired grants are left out. Periods whose grant is
 * stored or has expired are skipped, so that the work does not grow with the age of the contract.
 */
const creditsToCome = (
  { contract, creditLines, creditBefore }: InvoicePlan,
  written: NewestCredits,
): CreditGrant[] =>
  creditLines.flatMap((line) => {
    const newest = written.get(line.id)
    const endingAfter = Math.max(
      newest === undefined ? 0 : periodAt(contract, newest).endAt,
      line.expires === 'period_end' ? creditBefore - 1 : 0,
    )
    return creditsDue(contract, line, creditBefore, { endingAfter }).map(
      ({ amount, effectiveAt, expiresAt }) => ({
        id: null,
        amount: parseRatio(amount),
        effectiveAt,
        expiresAt,
        voidedAt: null,
        archivedAt: null,
      }),
    )
  })

/** Adds up the unrated usage of all pieces, by source. */
function addUnrated(all: readonly Unrated[]): Unrated[] {
  const bySource = new Map<string, Unrated>()
  for (const one of all) {
    const before = bySource.get(one.source)
    bySource.set(one.source, {
      source: one.source,
      eventCount: one.eventCount + (before?.eventCount ?? 0n),
      quantity: before ? addRatios(before.quantity, one.quantity) : one.quantity,
    })
  }
  return [...bySource.values()].sort((a, b) => (a.source < b.source ? -1 : 1))
}
