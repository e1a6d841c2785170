import {
  addAmounts,
  type Amount,
  amountFromDatabase,
  parseAmount,
  ZERO,
} from '../../../shared/amount/amount.ts'

/** Sum and count of the events of one account and source. */
export interface UsageTotal {
  sum: Amount
  count: number
}

/** Exact totals by account and by source (a metric's id or a currency). */
export class UsageTotals {
  private readonly byAccount = new Map<string, Map<string, UsageTotal>>()

  /**
   * Adds one event.
   * @param quantity decimal text
   */
  add(accountId: string, source: string, quantity: string): void {
    this.merge(accountId, source, { sum: parseAmount(quantity), count: 1 })
  }

  /**
   * Adds a total.
   * @param sum, count decimal text from an answer of Tally
   */
  addTotal(accountId: string, source: string, sum: string, count: string): void {
    this.merge(accountId, source, { sum: amountFromDatabase(sum), count: Number(count) })
  }

  get(accountId: string, source: string): UsageTotal {
    return this.byAccount.get(accountId)?.get(source) ?? { sum: ZERO, count: 0 }
  }

  sourcesOf(accountId: string): string[] {
    return [...(this.byAccount.get(accountId)?.keys() ?? [])]
  }

  accountIds(): string[] {
    return [...this.byAccount.keys()]
  }

  private merge(accountId: string, source: string, more: UsageTotal): void {
    const bySource = this.byAccount.get(accountId) ?? new Map<string, UsageTotal>()
    this.byAccount.set(accountId, bySource)
    const before = bySource.get(source)
    if (before === undefined) {
      bySource.set(source, { ...more })
      return
    }
    before.sum = addAmounts(before.sum, more.sum)
    before.count += more.count
  }
}
