/**
 * However far it is overdrawn, it is made good within so long: in one process rows of other queries are counted with
 * those of a statement.
 */
const DEBT_MAX_S = 900

/**
 * How many rows may be read for something: a token bucket. It grows with time, up to a limit, and may be overdrawn by
 * what is begun while some is left: what a statement reads is known afterwards.
 */
export class RowBudget {
  private readonly perS: number
  private readonly savedMax: number
  private rows: number
  private rowsMax: number
  private at = performance.now()

  /**
   * @param perS rows a second
   * @param savedMax the limit; there are as many from the start
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

  /** Adds to it; up to as many may be saved from then on. */
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
