import type { DeleteNamespaces } from '../../../shared/clickhouse/events/delete-namespaces.ts'
import type { Closeable } from '../../../shared/lifecycle/close-all.ts'
import { repeat } from '../../../shared/lifecycle/repeat.ts'
import { loggableError } from '../../../shared/logging/loggable-error.ts'
import type { Logger } from '../../../shared/logging/logger.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { isElsewhere, runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import {
  type RetiredNamespace,
  retiredNamespaceRepository,
} from '../../../shared/postgres/retired-namespaces.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'

export interface EmptyingDeps {
  pool: Pool
  deleteNamespaces: DeleteNamespaces
  /** No event accepted before this time can still be loaded from the event log. */
  listedUpTo: () => Promise<Micros>
}

/** How many namespaces one round empties. */
const AT_ONCE = 500
/** Rows of PostgreSQL that are deleted in one transaction. */
const ROWS_AT_ONCE = 2_000
/**
 * No request takes this long, and clocks of gateways differ by less. So usage accepted this long after a reset is not
 * usage of the retired namespace.
 */
const STRAGGLERS_MS = 600_000
const JOB = 'the removal of what was reset'

/**
 * Empties the retired namespaces that are due. It may be interrupted anywhere and repeated. A namespace counts as
 * emptied once everything in it was deleted. It becomes due again later, and sooner while the event log may still
 * contain usage of it.
 *
 * @param againAfterMs when a namespace becomes due again while usage of it may be on its way
 * @returns how many were emptied
 * @throws when one of them could not be emptied; all others were
 * @internal
 */
export async function emptyRetiredNamespaces(
  { pool, deleteNamespaces, listedUpTo }: EmptyingDeps,
  againAfterMs: number,
  signal: AbortSignal,
): Promise<number> {
  const retired = retiredNamespaceRepository(pool)
  const due = await retired.listDue(AT_ONCE)
  if (due.length === 0) return 0
  // Read this first. What is loaded later was either accepted later, or is deleted below.
  const loadedUpTo = await listedUpTo()
  const without: RetiredNamespace[] = []
  const failures: unknown[] = []
  for (const namespace of due)
    try {
      while ((await retired.removeRows(namespace.id, ROWS_AT_ONCE)) > 0) signal.throwIfAborted()
      without.push(namespace)
    } catch (err) {
      signal.throwIfAborted()
      failures.push(err) // this namespace is the first in the next round, too, so it must not stop the others
    }
  if (without.length > 0) {
    const ids = without.map(({ id }) => id)
    await deleteNamespaces(ids, signal)
  }
  for (const { id, retiredAt } of without) {
    const isSettled = (retiredAt.getTime() + STRAGGLERS_MS) * 1_000 < loadedUpTo
    await retired.noteEmptied(id, isSettled, againAfterMs)
  }
  if (failures.length > 0) throw failures[0]
  return due.length
}

/** Empties retired namespaces repeatedly, until it is closed. Only one process at a time does so. */
export function keepEmptying(deps: EmptyingDeps, everyMs: number, log: Logger): Closeable {
  const round = async (signal: AbortSignal) => {
    const emptied = await runExclusively(deps.pool, JOB, () => emptyRetiredNamespaces(deps, everyMs, signal))
    if (emptied > 0) log.debug({ namespaces: emptied }, 'deleted the data of namespaces that were reset')
  }
  return repeat(JOB, everyMs, round, (err, signal) => {
    if (!isElsewhere(err) && !signal.aborted)
      log.warn(
        { err: loggableError(err) },
        'could not delete the data of namespaces that were reset, trying again',
      )
  })
}
