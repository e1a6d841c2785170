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
  /** Returns a time. Every event that was accepted before it is loaded from the event log already. */
  listedUpTo: () => Promise<Micros>
}

/** The maximum number of namespaces that one round empties. */
const AT_ONCE = 500
/** The maximum number of rows of PostgreSQL that one transaction deletes. */
const ROWS_AT_ONCE = 2_000
/**
 * Every request is shorter than this, and the clocks of gateways differ by less. So usage that is accepted this long
 * after a reset cannot be usage of the retired namespace.
 */
const STRAGGLERS_MS = 600_000
const JOB = 'the removal of what was reset'

/**
 * Deletes the data of the retired namespaces that are due. This may be interrupted at any point and repeated. A
 * namespace is recorded as emptied once all its data was deleted. It becomes due again later, and sooner while the
 * event log may still contain its usage.
 *
 * @param againAfterMs the time until a namespace becomes due again while the event log may still contain its usage
 * @returns how many namespaces were due
 * @throws the first failure, after all other namespaces were emptied
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
  // This must come before the deletion: usage that is loaded later was accepted after this time, or is deleted below.
  const loadedUpTo = await listedUpTo()
  const without: RetiredNamespace[] = []
  const failures: unknown[] = []
  for (const namespace of due)
    try {
      while ((await retired.removeRows(namespace.id, ROWS_AT_ONCE)) > 0) signal.throwIfAborted()
      without.push(namespace)
    } catch (err) {
      signal.throwIfAborted()
      failures.push(err) // the next round begins with this namespace, too, so it must not stop the others
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

/** Empties retired namespaces repeatedly, until it is closed. Only one process at a time does this. */
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
