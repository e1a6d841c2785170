export interface SharesOptions {
  /** The largest amount of all tenants together. */
  max: number
  /** The largest amount of one tenant. */
  maxOfOne: number
}

/**
 * A limited amount that tenants share, with a limit for each tenant. Requests do not wait for their share: a client
 * must repeat a request that gets none.
 */
export class Shares {
  private readonly options: SharesOptions
  /** Amounts by tenant; no amount is 0. */
  private readonly taken = new Map<string, number>()
  private total = 0

  constructor(options: SharesOptions) {
    this.options = options
  }

  /** @returns whether enough was left; if false, nothing was taken */
  take(tenant: string, amount: number): boolean {
    const { max, maxOfOne } = this.options
    if (this.total + amount > max || this.of(tenant) + amount > maxOfOne) return false
    this.add(tenant, amount)
    return true
  }

  /** Adds an amount that is already in use, even beyond the limits. Later requests then get less. */
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

  /** Whether a tenant has reached its limit. */
  isFull(tenant: string): boolean {
    return this.of(tenant) >= this.options.maxOfOne
  }
}
