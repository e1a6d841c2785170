/** Places at which test/faults/crash-points.test.ts kills the loader, in the order in which a batch reaches them. */
export const LOADER_POINTS = [
  'loader-gathered', // the batch is read; the batch before it may still be stored at this moment
  'loader-marked', // marks of late usage are pending; its rows are not stored yet
  'loader-stored', // all rows are stored; the marks are still pending
  'loader-readied', // the marks are ready
  'loader-inserting', // some blocks of the batch are in ClickHouse, others are not
  'loader-inserted', // all blocks that ClickHouse accepts are in it
  'loader-dead-lettered', // a line of the batch is in the dead letters
  'loader-committing', // rows and dead letters are stored; the new offsets are not committed
  'loader-committed', // the new offsets are committed
] as const

export type LoaderPoint = (typeof LOADER_POINTS)[number]
