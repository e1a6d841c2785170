import type { UsageSource } from '../usage-source.ts'
import type { Schedule } from './periods.ts'

/** When a contract runs; all in Unix seconds. */
export interface ContractTimes extends Schedule {
  startsAt: number
  /** null: open. */
  endsAt: number | null
  cancelAt: number | null
}

/** An entry of a timeline. Changes add entries and end entries. Times are Unix seconds; the end is exclusive. */
export interface Entry {
  id: string
  startsAt: number
  /** null: open. Equal to the start: the entry was withdrawn and is never in force. */
  endsAt: number | null
}

/** A price of the contract that replaces the card's price of a product. */
export interface PriceOverride {
  productId: string
  /**
   * The value of the rate's property that this price is for; null: all values that the rate does not list. Undefined:
   * all values that no other override names.
   */
  value?: string | null
  priceId: string
}

/** Follows a rate card. */
export interface CardLine extends Entry {
  kind: 'card'
  rateCardId: string
  priceOverrides: readonly PriceOverride[]
  /** Decimal text, 0 to 100. */
  discountPercent: string
}

/** Charges a price for a stated quantity. */
export interface PriceLine extends Entry {
  kind: 'price'
  priceId: string
  /** Decimal text. */
  quantity: string
  discountPercent: string
}

/** The least amount that the lines of a period cost together. */
interface MinimumLine extends Entry {
  kind: 'minimum'
  /** Decimal text, for a whole period. */
  minimumAmount: string
}

/** Gives a grant in each period. */
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
