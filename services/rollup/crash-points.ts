/** Where the fault tests have the rollup service crash. */
export const ROLLUP_POINTS = [
  'rollup-building', // an epoch is begun, nothing is in it
  'rollup-built', // everything is in it, and nobody uses it
  'rollup-closing', // slots are about to be closed
  'rollup-slots', // … are stored
  'rollup-slot-totals', // … and their totals
  'rollup-days', // … and the day that ends with them
  'rollup-totals', // … and its total
  'rollup-months', // … and the month, where it ends with them; readers do not use them yet
  'rollup-closed', // readers use them
  'rollup-marks', // marks of late usage are read
  'rollup-late-slots', // their slots are recomputed
  'rollup-late-slot-totals', // … and the totals of those
  'rollup-late-days', // … and their days and totals
  'rollup-late-months', // … and the months of those; the marks stand
  'rollup-cancelled', // the marks are taken back
] as const

export type RollupPoint = (typeof ROLLUP_POINTS)[number]
