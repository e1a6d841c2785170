import type { ReporterError } from './errors.ts'
import type { SentEvent } from './sender.ts'
import type { SpoolFile } from './spool/spool-file.ts'

/** An event on its way to Tally. */
export interface ReporterEvent extends SentEvent {
  /** The number of flushes before it. */
  epoch: number
  /** The file that has it; undefined when it is only in memory. */
  file?: SpoolFile | undefined
  /** Set while `report()` waits for it. */
  report?: { resolve: () => void; reject: (err: ReporterError) => void } | undefined
}
