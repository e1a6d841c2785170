/**
 * Runs work concurrently, up to a limit. A caller that adds work beyond the limit has to wait. So a caller that reads
 * its input fast does not fill the memory with waiting work.
 */
export class InFlight {
  private readonly max: number
  private readonly underWay = new Set<Promise<void>>()
  private failure: { err: unknown } | undefined

  /** @param max how many pieces of work may run at once */
  constructor(max: number) {
    this.max = max
  }

  get size(): number {
    return this.underWay.size
  }

  /**
   * Starts a piece of work as soon as there is room for it.
   * @throws the first failure of any work added before
   */
  async add(work: () => Promise<void>): Promise<void> {
    while (this.underWay.size >= this.max) await Promise.race(this.underWay)
    this.throwFailure()
    const running = work()
      .catch((err: unknown) => {
        this.failure ??= { err }
      })
      .finally(() => this.underWay.delete(running))
    this.underWay.add(running)
  }

  /**
   * Resolves when all work has ended.
   * @throws the first failure
   */
  async settle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay)
    this.throwFailure()
  }

  private throwFailure(): void {
    if (this.failure !== undefined) throw this.failure.err
  }
}
