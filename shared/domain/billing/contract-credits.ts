import type { ContractTimes, CreditLine } from './contract.ts'
import { boundary, periodIndex } from './periods.ts'
import { pieceOf } from './pieces.ts'

/**
 * A grant that a credit line gives. Times are Unix seconds. The line and `periodStartAt` are the key of the grant, so
 * the grant is given only once.
 */
export interface DueCredit {
  /** The start of the whole period, which may begin before the contract. */
  periodStartAt: number
  /** The end of the period. If the line is still in force then, the line gives its next grant. */
  periodEndAt: number
  /** Decimal text. It is the full amount, even if the line covers only a part of the period. */
  amount: string
  effectiveAt: number
  expiresAt: number | null
}

/** Limits the grants of a line. Without limits, all grants are returned. */
interface DueOptions {
  /** Only grants of periods that end after this second. */
  endingAfter?: number
  /** At most this many grants, the oldest. */
  atMost?: number
}

/**
 * The grants that a credit line had to give up to and including the second `now`, oldest first. A cancellation of the
 * contract revokes none of them.
 */
export function creditsDue(
  contract: ContractTimes,
  line: Pick<CreditLine, 'startsAt' | 'endsAt' | 'amount' | 'expires'>,
  now: number,
  { endingAfter = 0, atMost = Infinity }: DueOptions = {},
): DueCredit[] {
  const due: DueCredit[] = []
  // A piece begins at the latest of three starts: of the period, of the line and of the contract.
  const firstSecond = Math.max(line.startsAt, contract.startsAt, endingAfter)
  for (let k = periodIndex(contract, firstSecond); boundary(contract, k) <= now && due.length < atMost; k++) {
    const period = { startAt: boundary(contract, k), endAt: boundary(contract, k + 1) }
    const piece = pieceOf(line, contract, period)
    if (piece === undefined || piece.startAt > now) break
    due.push({
      periodStartAt: period.startAt,
      periodEndAt: period.endAt,
      amount: line.amount,
      effectiveAt: piece.startAt,
      expiresAt: line.expires === 'period_end' ? period.endAt : null,
    })
  }
  return due
}
