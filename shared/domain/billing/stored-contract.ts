import type { Contract, ContractLine, Entry } from './contract.ts'
import type { CancelRequest } from './contract-status.ts'

/** The request that canceled a contract. The contract's `cancelAt` says when the cancellation takes effect. */
export interface Cancellation {
  mode: CancelRequest['mode']
  reason: string | null
  /** In Unix seconds, by the clock of the namespace. */
  requestedAt: number
}

/** A stored contract, without its lines. */
export interface ContractRecord extends Omit<Contract, 'lines'> {
  name: string | null
  description: string | null
  externalId: string | null
  /** Null if no cancellation was requested, or it was withdrawn. */
  cancellation: Cancellation | null
  createdAt: Date
  updatedAt: Date
}

/** The stored fields of any line. */
interface Kept {
  description: string | null
  createdAt: Date
}

/** A stored line. */
export type StoredLine = ContractLine & Kept

/** A line that is to be stored. */
export type NewLine = ContractLine & Omit<Kept, 'createdAt'>

/** A stored contract, with all lines it ever had, in order of creation. */
export interface StoredContract extends ContractRecord {
  lines: readonly StoredLine[]
}

/** The maximum number of lines that a contract may have at one time, not counting lines that have ended. */
export const OPEN_LINES_MAX = 200

/** Whether a line is in force at a second or at any later time. A withdrawn line is never in force. */
export const isToCome = ({ startsAt, endsAt }: Omit<Entry, 'id'>, second: number): boolean =>
  endsAt === null || endsAt > Math.max(second, startsAt)
