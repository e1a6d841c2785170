export interface SharesOptions {
  /** The most of all tenants together. */
  max: number
  /** The most of one tenant. */
  maxOfOne: number
}

/**
 * A limited amount that tenants share, with a limit for each. Nobody waits for it: a request that gets nothing must be
 * sent again.
 */
export class Shares {
  private readonly options: SharesOptions
  /** Amounts by tenant; none of them is 0. */
  private readonly taken = new Map<string, number>()
  private total = 0

  constructor(options: SharesOptions) {
    this.options = options
  }

  /** @returns whether enough was left; if not, nothing was taken */
  take(tenant: string, amount: number): boolean {
    const { max, maxOfOne } = this.options
    if (this.total + amount > max || this.of(tenant) + amount > maxOfOne) return false
    this.add(tenant, amount)
    return true
  }

  /** Adds an amount that is already in use, even beyond the limit: others then get less. */
  add(tenant: string, amount: number): void {
    this.taken.set(tenant, this.of(tenant) + amount)
    this.total += amount
  }

  give(tenant: string, amount: number): void {
    const left = this.of(tenant) - amount
    if (left > 0) this.taken.set(tenant, left)
    else this.taken.delete(tenant)
    this.total -= amount
  }

  /** The amount that a tenant has. */
  of(tenant: string): number {
    return this.taken.get(tenant) ?? 0
  }

  /** Whether a tenant has reached a limit. */
  isFull(tenant: string): boolean {
    return this.of(tenant) >= this.options.maxOfOne
  }
}
