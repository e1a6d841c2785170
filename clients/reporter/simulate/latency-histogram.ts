const SMALLEST_MS = 0.1
const GROWTH = 1.02

/**
 * Counts durations in classes whose limits grow by 2 %. So any percentile is exact to 2 %, and the memory does not grow
 * with the number of durations.
 */
export class LatencyHistogram {
  /** The longest duration, exactly; 0 when there is none. */
  maxMs = 0
  count = 0
  private readonly classes: number[] = []

  add(ms: number): void {
    const index = ms <= SMALLEST_MS ? 0 : Math.ceil(Math.log(ms / SMALLEST_MS) / Math.log(GROWTH))
    this.classes[index] = (this.classes[index] ?? 0) + 1
    this.count++
    if (ms > this.maxMs) this.maxMs = ms
  }

  /**
   * @param quantile from 0 to 1: 0.99 for the 99th percentile
   * @returns undefined when there are no durations
   */
  percentile(quantile: number): number | undefined {
    let left = Math.max(Math.ceil(this.count * quantile), 1)
    for (const [index, count = 0] of this.classes.entries()) {
      left -= count
      if (left <= 0) return Math.min(SMALLEST_MS * GROWTH ** index, this.maxMs)
    }
    return undefined
  }
}
