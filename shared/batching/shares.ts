export interface SharesOptions {
  /** Of all together. */
  max: number
  /** … of one tenant. */
  maxOfOne: number
}

/**
 * So much of something for all who share it, and a part of that for each. Nobody waits for more of it: who gets none is
 * to come again.
 */
export class Shares {
  private readonly options: SharesOptions
  /** By tenant, none of them 0. */
  private readonly taken = new Map<string, number>()
  private total = 0

  constructor(options: SharesOptions) {
    this.options = options
  }

  /** @returns whether there was so much left; if not, nothing was taken */
  take(tenant: string, amount: number): boolean {
    const { max, maxOfOne } = this.options
    if (this.total + amount > max || this.of(tenant) + amount > maxOfOne) return false
    this.add(tenant, amount)
    return true
  }

  /** Takes what is there already, however much is left: others get less for it. */
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

  /** What a tenant has of it. */
  of(tenant: string): number {
    return this.taken.get(tenant) ?? 0
  }

  /** Whether a tenant has all that it may have. */
  isFull(tenant: string): boolean {
    return this.of(tenant) >= this.options.maxOfOne
  }
}
