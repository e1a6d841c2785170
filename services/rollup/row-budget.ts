/**
 * The largest debt is the number of rows that this time adds. A larger debt could be wrong, because in a shared process
 * the row count of a statement includes rows of other queries.
 */
const DEBT_MAX_S = 900

/**
 * A token bucket of rows that may be read. It fills with time, up to a limit. The last statement may overdraw it,
 * because it is known only afterwards how many rows a statement reads.
 */
export class RowBudget {
  private readonly perS: number
  private readonly savedMax: number
  private rows: number
  private rowsMax: number
  private at = performance.now()

  /**
   * @param perS rows a second
   * @param savedMax the limit; the bucket starts full
   */
  constructor(perS: number, savedMax: number) {
    this.perS = perS
    this.savedMax = savedMax
    this.rows = savedMax
    this.rowsMax = savedMax
  }

  isLeft(): boolean {
    this.grow(0)
    return this.rows > 0
  }

  spend(rows: number): void {
    this.rows = Math.max(this.rows - rows, -DEBT_MAX_S * this.perS)
  }

  /** Adds rows to the budget. If they are more than the limit, this number is the limit until rows are added again. */
  earn(rows: number): void {
    if (rows > 0) this.rowsMax = Math.max(this.savedMax, rows)
    this.grow(rows)
  }

  private grow(rows: number): void {
    const now = performance.now()
    this.rows = Math.min(this.rowsMax, this.rows + rows + (this.perS * (now - this.at)) / 1_000)
    this.at = now
  }
}
