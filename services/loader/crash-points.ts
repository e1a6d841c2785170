/** Places at which test/faults/crash-points.test.ts kills the loader, in the order in which a batch reaches them. */
export const LOADER_POINTS = [
  'loader-gathered', // the batch is read; the one before may be on its way into ClickHouse
  'loader-marked', // late usage is marked as pending, and not stored yet
  'loader-stored', // all rows are stored; the marks are still pending
  'loader-readied', // the marks are ready
  'loader-inserting', // some blocks of the batch are in ClickHouse, others are not
  'loader-inserted', // all blocks that ClickHouse takes are in it
  'loader-dead-lettered', // a line of the batch is in the dead letters
  'loader-committing', // rows and dead letters are stored, the offsets are still the old ones
  'loader-committed', // the new offsets are committed
] as const

export type LoaderPoint = (typeof LOADER_POINTS)[number]
