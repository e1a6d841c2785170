import { type Ratio, ratioOf } from '../../amount/ratio.ts'
import { intersect, type TimeRange } from '../time-range.ts'
import type { ContractTimes, Entry } from './contract.ts'
import { rangeOf } from './timeline-change.ts'

/** Which share of a period a piece is, as two whole numbers of seconds. */
export interface Share {
  seconds: number
  of: number
}

/**
 * When a contract is in force: from its start to the earlier of its term and its cancellation; Infinity when open.
 */
export const contractRange = ({ startsAt, endsAt, cancelAt }: Omit<ContractTimes, 'anchorAt' | 'cadence'>) =>
  ({ startAt: startsAt, endAt: Math.min(endsAt ?? Infinity, cancelAt ?? Infinity) }) satisfies TimeRange

/**
 * The part of a period for which a line is rated.
 *
 * @param period whole, from boundary to boundary
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
 * Which share of a period a piece is.
 *
 * @param period the whole period, even if the contract covers only a part of it: a month's price is for a whole month
 */
export const shareOf = (piece: TimeRange, period: TimeRange): Share => ({
  seconds: piece.endAt - piece.startAt,
  of: period.endAt - period.startAt,
})

export const shareRatio = ({ seconds, of }: Share): Ratio => ratioOf(BigInt(seconds), BigInt(of))
