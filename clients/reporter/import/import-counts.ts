/** The progress of an import. */
export interface ImportCounts {
  bytes: number
  lines: number
  /** Events that Tally confirmed. */
  events: number
  badLines: number
  /** Empty quantity cells. They make no events. */
  emptyQuantities: number
  /** Lines that are equal to an earlier line of this input. Each of them counts. */
  repeatedLines: number
}

export const newImportCounts = (): ImportCounts => ({
  bytes: 0,
  lines: 0,
  events: 0,
  badLines: 0,
  emptyQuantities: 0,
  repeatedLines: 0,
})
