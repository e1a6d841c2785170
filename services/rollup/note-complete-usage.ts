import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { usageCompleteRepository } from '../../shared/clickhouse/events/usage-complete.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import { repeat } from '../../shared/lifecycle/repeat.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { usageCompleteUpTo } from '../../shared/postgres/complete-up-to.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inEveryNamespace } from '../../shared/postgres/core/transaction.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'

export interface NoteCompleteUsageDeps {
  pool: Pool
  clickhouse: ClickHouse
  /** Every event accepted before this time is stored already. */
  listedUpTo: () => Promise<Micros>
  log: Logger
}

/** Each note is an insert that is written through to the disk, so it is not made more often. */
const EVERY_MS = 5_000

/**
 * Notes in ClickHouse, time and again, up to when usage is complete, for analysts who load what has changed. Several
 * processes may do so: each note is true for good, and the highest counts.
 */
export function noteCompleteUsage(
  { pool, clickhouse, listedUpTo, log }: NoteCompleteUsageDeps,
  everyMs = EVERY_MS,
): Closeable {
  const complete = usageCompleteRepository(clickhouse)
  let noted = 0
  const note = async () => {
    const loadedUpTo = await listedUpTo() // read first: what the reads below do not find any more is loaded
    const upTo = await inEveryNamespace(pool, (db) => usageCompleteUpTo(db, loadedUpTo))
    if (upTo <= noted) return
    await complete.note(upTo)
    noted = upTo
  }
  const onFailure = (err: unknown, signal: AbortSignal) => {
    if (!signal.aborted)
      log.debug({ err: loggableError(err) }, 'could not note up to when usage is complete, trying again')
  }
  return repeat('notes of complete usage', everyMs, note, onFailure, 0)
}
