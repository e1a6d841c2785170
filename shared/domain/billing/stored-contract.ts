import type { Contract, ContractLine, Entry } from './contract.ts'
import type { CancelRequest } from './contract-status.ts'

/** What was said when a contract was canceled; `cancelAt` of the contract says from when on it is. */
export interface Cancellation {
  mode: CancelRequest['mode']
  reason: string | null
  /** In Unix seconds of the namespace. */
  requestedAt: number
}

/** A contract as it is kept, without its lines. */
export interface ContractRecord extends Omit<Contract, 'lines'> {
  name: string | null
  description: string | null
  externalId: string | null
  /** null: none was asked for, or it was taken back. */
  cancellation: Cancellation | null
  createdAt: Date
  updatedAt: Date
}

/** What a line is kept with. */
interface Kept {
  description: string | null
  createdAt: Date
}

/** A line as it is kept. */
export type StoredLine = ContractLine & Kept

/** A line that is to be kept. */
export type NewLine = ContractLine & Omit<Kept, 'createdAt'>

/** A contract as it is kept, with all lines it ever had, in order of creation. */
export interface StoredContract extends ContractRecord {
  lines: readonly StoredLine[]
}

/** Lines a contract may have that are not ended, at a time. */
export const OPEN_LINES_MAX = 200

/** Whether a line is in force or will be, at a second; one that was withdrawn never is. */
export const isToCome = ({ startsAt, endsAt }: Omit<Entry, 'id'>, second: number): boolean =>
  endsAt === null || endsAt > Math.max(second, startsAt)
