/** Where test/faults/crash-points.test.ts has the loader crash, in the order in which a batch gets there. */
export const LOADER_POINTS = [
  'loader-gathered', // it is read; the one before may be on its way into ClickHouse
  'loader-marked', // late usage is marked as pending, and not stored
  'loader-stored', // … and all is stored; the marks are pending still
  'loader-readied', // … and the marks are ready
  'loader-inserting', // some of its blocks are in ClickHouse, others are not
  'loader-inserted', // all are that ClickHouse takes
  'loader-dead-lettered', // a line of it is in the dead letters
  'loader-committing', // rows and dead letters are stored, its offsets are the old ones
  'loader-committed', // … and are the new ones
] as const

export type LoaderPoint = (typeof LOADER_POINTS)[number]
