import type { TimeRange } from '../time-range.ts'
import type { DailyLine } from './daily-lines.ts'

/** A period of a contract, rated by day. Times are Unix seconds. */
export interface RatedPeriod {
  contractId: string
  accountId: string
  customerId: string | null
  currency: string
  /** The part of the whole period in which the contract is in force. */
  period: TimeRange
  /** Usage that occurred before this time counts. */
  asOf: number
  /** Every event that was accepted before this time is counted. */
  usageAsOf: number
  /** When the contract was changed last. */
  changedAt: Date
  lines: DailyLine[]
}
