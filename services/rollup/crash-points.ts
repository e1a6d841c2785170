/** Places at which the fault tests kill the rollup service. */
export const ROLLUP_POINTS = [
  'rollup-building', // the epoch is begun and still empty
  'rollup-built', // the epoch is complete, and no reader uses it yet
  'rollup-closing', // slots are about to be closed
  'rollup-slots', // the slots are stored
  'rollup-slot-totals', // the slots' totals are stored
  'rollup-days', // the day that ends with these slots is stored
  'rollup-totals', // the day's total is stored
  'rollup-months', // the month that ends with these slots is stored; readers do not use the new rollups yet
  'rollup-closed', // readers use the new rollups
  'rollup-marks', // marks of late usage are read
  'rollup-late-slots', // the marked slots are recomputed
  'rollup-late-slot-totals', // the totals of those slots are recomputed
  'rollup-late-days', // their days and the days' totals are recomputed
  'rollup-late-months', // the months of those days are recomputed; the marks are not cancelled yet
  'rollup-cancelled', // the marks are cancelled
  'dimensions-emptied', // PostgreSQL went back: the copies are empty, and not begun again
  'dimensions-read', // changed rows of a table are read
  'dimensions-stored', // they are in ClickHouse
  'dimensions-reached', // PostgreSQL knows how far the copies are, ClickHouse does not yet
  'dimensions-noted', // ClickHouse knows it, too
  'rating-read', // a period of a contract is rated, and not stored
  'rating-stored', // it is in ClickHouse
  'rating-noted', // all periods of a namespace are rated, and ClickHouse knows it
] as const

export type RollupPoint = (typeof ROLLUP_POINTS)[number]
