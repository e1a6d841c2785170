import type { ContractTimes, CreditLine } from './contract.ts'
import { boundary, periodIndex } from './periods.ts'
import { pieceOf } from './pieces.ts'

/** A grant that a credit line gives; instants in Unix seconds. With the line, `periodStartAt` is its key: one, ever. */
export interface DueCredit {
  /** Of the whole period, which may begin before the contract. */
  periodStartAt: number
  /** Where that period ends and the next begins: when the line gives again, if it is in force then. */
  periodEndAt: number
  /** Decimal text: in full, also for a part of a period. */
  amount: string
  effectiveAt: number
  expiresAt: number | null
}

/** Which grants of a line are wanted; all, when nothing is said. */
interface DueOptions {
  /** Those of periods that end after this second. */
  endingAfter?: number
  /** No more, the oldest. */
  atMost?: number
}

/**
 * The grants a credit line was due until now, that second included, oldest first. What was canceled takes none back.
 */
export function creditsDue(
  contract: ContractTimes,
  line: Pick<CreditLine, 'startsAt' | 'endsAt' | 'amount' | 'expires'>,
  now: number,
  { endingAfter = 0, atMost = Infinity }: DueOptions = {},
): DueCredit[] {
  const due: DueCredit[] = []
  // A piece begins with the period, the line or the contract: with none before the latest of them.
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
