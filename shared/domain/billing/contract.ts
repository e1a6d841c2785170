import type { UsageSource } from '../usage-source.ts'
import type { Schedule } from './periods.ts'

/** The times that decide when a contract is in force. All are Unix seconds. */
export interface ContractTimes extends Schedule {
  startsAt: number
  /** Null if the contract has no end. */
  endsAt: number | null
  cancelAt: number | null
}

/** An entry of a timeline. A change adds entries and ends entries. Times are Unix seconds; the end is exclusive. */
export interface Entry {
  id: string
  startsAt: number
  /** Null if the entry has no end. If it equals the start, the entry was withdrawn and is never in force. */
  endsAt: number | null
}

/** A price of the contract that replaces the card's price of a product. */
export interface PriceOverride {
  productId: string
  /**
   * The value of the rate's property that this price is for. Null means all values that the rate does not list.
   * Undefined means all values that no other override names.
   */
  value?: string | null
  priceId: string
}

/** A line that charges usage by a rate card. */
export interface CardLine extends Entry {
  kind: 'card'
  rateCardId: string
  priceOverrides: readonly PriceOverride[]
  /** Decimal text, 0 to 100. */
  discountPercent: string
}

/** A line that charges a price for a stated quantity. */
export interface PriceLine extends Entry {
  kind: 'price'
  priceId: string
  /** Decimal text. */
  quantity: string
  discountPercent: string
}

/** A line that sets the least amount that all lines of a period cost together. */
interface MinimumLine extends Entry {
  kind: 'minimum'
  /** Decimal text, for a whole period. */
  minimumAmount: string
}

/** A line that gives a grant in each period. */
export interface CreditLine extends Entry {
  kind: 'credit'
  /** Decimal text. */
  amount: string
  source: UsageSource
  expires: 'never' | 'period_end'
}

export type ContractLine = CardLine | PriceLine | MinimumLine | CreditLine

/** An account's agreement: the parts that decide what is owed. */
export interface Contract extends ContractTimes {
  id: string
  accountId: string
  currency: string
  lines: readonly ContractLine[]
}
