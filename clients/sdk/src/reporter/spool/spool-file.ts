import type { FileName } from './file-name.ts'

/** A file of events that this process sends. */
export interface SpoolFile {
  readonly name: FileName
  /** How many of its events are not settled. */
  left: number
  /** The number of flushes before its first event. */
  epoch: number
  /** Whether its events are only in the file, not in memory. */
  isCold: boolean
  /** Whether it is being merged. */
  isBusy: boolean
  /** Whether it stays in the folder although all is settled, because its damaged lines could not be kept elsewhere. */
  stays: boolean
  /** The file that has its events now. */
  into?: SpoolFile
}

export const spoolFile = (
  name: FileName,
  { isCold, epoch }: Pick<SpoolFile, 'isCold' | 'epoch'>,
): SpoolFile => ({ name, left: name.events, epoch, isCold, isBusy: false, stays: false })

/** The file that has the events of this one now. */
export function presentFile(file: SpoolFile): SpoolFile {
  let present = file
  while (present.into !== undefined) present = present.into
  return present
}
