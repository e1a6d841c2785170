import { type Ratio, ratioOf } from '../../amount/ratio.ts'
import { intersect, type TimeRange } from '../time-range.ts'
import type { ContractTimes, Entry } from './contract.ts'
import { rangeOf } from './timeline-change.ts'

/** The share of a period that a piece covers: `seconds` out of `of` seconds, both whole numbers. */
export interface Share {
  seconds: number
  of: number
}

/**
 * The range in which a contract is in force: from its start to its end or its cancellation, whichever is earlier. The
 * range ends at Infinity if the contract has neither.
 */
export const contractRange = ({ startsAt, endsAt, cancelAt }: Omit<ContractTimes, 'anchorAt' | 'cadence'>) =>
  ({ startAt: startsAt, endAt: Math.min(endsAt ?? Infinity, cancelAt ?? Infinity) }) satisfies TimeRange

/**
 * The part of a period for which a line is rated.
 *
 * @param period the whole period, from boundary to boundary
 * @returns undefined when the line, or its contract, is not in force in the period
 */
export function pieceOf(
  line: Pick<Entry, 'startsAt' | 'endsAt'>,
  contract: Omit<ContractTimes, 'anchorAt' | 'cadence'>,
  period: TimeRange,
): TimeRange | undefined {
  const ofContract = intersect(period, contractRange(contract))
  return ofContract && intersect(ofContract, rangeOf(line))
}

/**
 * The share of a period that a piece covers.
 *
 * @param period the whole period, even if the contract covers only a part of it: a month's price is for a whole month
 */
export const shareOf = (piece: TimeRange, period: TimeRange): Share => ({
  seconds: piece.endAt - piece.startAt,
  of: period.endAt - period.startAt,
})

export const shareRatio = ({ seconds, of }: Share): Ratio => ratioOf(BigInt(seconds), BigInt(of))
