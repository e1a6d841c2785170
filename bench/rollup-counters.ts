import type { Scraped } from './scrape.ts'

/** What the counters of rollups and loader show. */
export interface RollupCounters {
  slotsClosed: number
  rowsRead: number
  /** Rows that were loaded; one that was loaded again counts again. */
  loaded: number
  lateMarks: number
}

export const rollupCountersOf = ({ sum }: Scraped): RollupCounters => ({
  slotsClosed: sum('tally_rollup_slots_total'),
  rowsRead: sum('tally_rollup_rows_read_total'),
  loaded: sum('tally_loader_rows_total'),
  lateMarks: sum('tally_rollup_late_marks_total'),
})

/** By how much they grew. */
export const grownBy = (before: RollupCounters, after: RollupCounters): RollupCounters => ({
  slotsClosed: after.slotsClosed - before.slotsClosed,
  rowsRead: after.rowsRead - before.rowsRead,
  loaded: after.loaded - before.loaded,
  lateMarks: after.lateMarks - before.lateMarks,
})
