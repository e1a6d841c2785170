import { type Ratio, ratioOf } from '../../amount/ratio.ts'
import { intersect, type TimeRange } from '../time-range.ts'
import type { ContractTimes, Entry } from './contract.ts'
import { rangeOf } from './timeline-change.ts'

/** How much of a period a piece is, as two whole numbers of seconds. */
export interface Share {
  seconds: number
  of: number
}

/** When a contract is in force: from its start to the earlier of its term and its cancellation; Infinity when open. */
export const contractRange = ({ startsAt, endsAt, cancelAt }: Omit<ContractTimes, 'anchorAt' | 'cadence'>) =>
  ({ startAt: startsAt, endAt: Math.min(endsAt ?? Infinity, cancelAt ?? Infinity) }) satisfies TimeRange

/**
 * The part of a period that a line is rated for.
 *
 * @param period whole, from boundary to boundary
 * @returns undefined when the line, or its contract, is in force at no second of the period
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
 * How much of a period a piece is.
 *
 * @param period whole, also where the contract has but a part of it: a month's price is that of a whole month
 */
export const shareOf = (piece: TimeRange, period: TimeRange): Share => ({
  seconds: piece.endAt - piece.startAt,
  of: period.endAt - period.startAt,
})

export const shareRatio = ({ seconds, of }: Share): Ratio => ratioOf(BigInt(seconds), BigInt(of))
