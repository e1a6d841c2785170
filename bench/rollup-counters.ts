import type { Scraped } from './scrape.ts'

/** Counters of rollups and loader. */
export interface RollupCounters {
  slotsClosed: number
  rowsRead: number
  /** Loaded rows; a row that is loaded twice counts twice. */
  loaded: number
  lateMarks: number
}

export const rollupCountersOf = ({ sum }: Scraped): RollupCounters => ({
  slotsClosed: sum('tally_rollup_slots_total'),
  rowsRead: sum('tally_rollup_rows_read_total'),
  loaded: sum('tally_loader_rows_total'),
  lateMarks: sum('tally_rollup_late_marks_total'),
})

/** The growth of the counters. */
export const grownBy = (before: RollupCounters, after: RollupCounters): RollupCounters => ({
  slotsClosed: after.slotsClosed - before.slotsClosed,
  rowsRead: after.rowsRead - before.rowsRead,
  loaded: after.loaded - before.loaded,
  lateMarks: after.lateMarks - before.lateMarks,
})
