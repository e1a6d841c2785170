import { setTimeout as sleep } from 'node:timers/promises'
import type { DimensionCopy, dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
import { groupBy } from '../../shared/collections/group-by.ts'
import { DIMENSION_TABLES } from '../../shared/domain/dimension-table.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type {
  DimensionChange,
  dimensionChangeRepository,
  DimensionState,
} from '../../shared/postgres/dimension-changes.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import type { RollupPoint } from './crash-points.ts'

export interface CopyDimensionsDeps {
  changes: ReturnType<typeof dimensionChangeRepository>
  copies: ReturnType<typeof dimensionRepository>
  /** Runs work that no other process runs at the same time. @throws DomainError conflict when one does */
  alone: (work: () => Promise<void>) => Promise<void>
  /** Called when the copies are emptied, because PostgreSQL went back to an earlier state. */
  onRefill: (position: number, reached: number) => void
  reached: Reached<RollupPoint>
}

export interface DimensionsCopied {
  rows: number
  /** Whether everything that was committed when this round began is copied. */
  isComplete: boolean
}

/** A number up to which all changes are known once all transactions with lower ids have ended. */
interface Bound {
  upTo: number
  at: Micros
  xid: string
}

const ROWS_AT_ONCE = 5_000
/**
 * While nothing changes, a round asks ClickHouse this often how far it has copied, and stores there the time up to
 * which it is complete.
 */
const IDLE_NOTE_MS = 10_000
const ATTEMPTS = 5
const ATTEMPT_MS = 40

/**
 * Copies rows that changed in PostgreSQL to ClickHouse. Each row is read as it is, and stored with the number of its
 * last change as its version. So nothing changes when a row is copied twice, in another order, or by several processes.
 * ClickHouse itself stores how far it has copied. So an empty ClickHouse, or an older backup of it, gets what it lacks.
 *
 * @returns one round
 */
export function dimensionCopier(
  deps: CopyDimensionsDeps,
): (signal: AbortSignal) => Promise<DimensionsCopied> {
  const { changes, copies } = deps
  let known: DimensionCopy | undefined
  let askedAt = -Infinity
  let bound: Bound | undefined
  return async (signal) => {
    const state = await changes.look()
    // PostgreSQL went back to an earlier state, or the last changes were deleted.
    if (bound !== undefined && state.newest < bound.upTo) bound = undefined
    const isIdle = known !== undefined && bound === undefined && state.newest <= known.position
    if (isIdle && performance.now() - askedAt < IDLE_NOTE_MS) return { rows: 0, isComplete: true }
    known = await readCurrent(deps, state)
    askedAt = performance.now()
    if (bound === undefined && state.newest > known.position)
      bound = { upTo: state.newest, at: state.at, xid: await changes.beginAfter() }
    if (bound === undefined) {
      await copies.note(known, state.at)
      return { rows: 0, isComplete: true }
    }
    if (!(await hasSettled(deps, bound, signal))) return { rows: 0, isComplete: false }
    const copied = await copyUpTo(deps, known, bound, signal)
    known = copied.copy
    if (copied.isComplete) bound = undefined
    return copied
  }
}

/**
 * Reads how far ClickHouse has copied. If that is further than PostgreSQL ever was, all copies are removed, to be made
 * again.
 */
async function readCurrent(deps: CopyDimensionsDeps, state: DimensionState): Promise<DimensionCopy> {
  const { changes, copies, alone, onRefill, reached } = deps
  const current = await copies.current()
  if (current.position <= state.reached) return current
  await alone(async () => {
    const [again, now] = [await copies.current(), await changes.look()]
    if (again.position <= now.reached) return
    onRefill(again.position, now.reached)
    // From here on, no copies are complete. The position stays the same, so that after a crash all of this is repeated.
    await copies.note({ fill: again.fill + 1, position: again.position })
    for (const table of DIMENSION_TABLES) await copies.empty(table)
    reached('dimensions-emptied')
    await copies.note({ fill: again.fill + 2, position: 0 })
  })
  return copies.current()
}

async function hasSettled(
  { changes }: CopyDimensionsDeps,
  { xid }: Bound,
  signal: AbortSignal,
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (await changes.haveEnded(xid)) return true
    await sleep(ATTEMPT_MS, undefined, { signal })
  }
  return false
}

/**
 * Copies every row whose last change has a higher number than the copy. Why also those above `upTo`: a row that changed
 * again has only its newest number. Without it, the copies up to `upTo` would lack the row, but would be noted as
 * complete. Rows above `upTo` are copied again later, because lower numbers may still appear.
 */
async function copyUpTo(
  deps: CopyDimensionsDeps,
  from: DimensionCopy,
  { upTo, at }: Bound,
  signal: AbortSignal,
): Promise<DimensionsCopied & { copy: DimensionCopy }> {
  const { changes, copies, reached } = deps
  let copy = from
  let rows = 0
  let last = from.position
  for (;;) {
    const page = await changes.list(last, ROWS_AT_ONCE)
    rows += await copyRows(deps, page, upTo)
    const isComplete = page.length < ROWS_AT_ONCE
    last = page.at(-1)?.number ?? last
    const position = Math.max(copy.position, isComplete ? upTo : Math.min(last, upTo))
    await changes.reach(position)
    reached('dimensions-reached')
    copy = { ...copy, position }
    await copies.note(copy, isComplete ? at : undefined)
    reached('dimensions-noted')
    if (isComplete || signal.aborted) return { rows, isComplete, copy }
  }
}

/** Copies the rows of some changes, as they are now. @returns the number of rows */
async function copyRows(
  { changes, copies, reached }: CopyDimensionsDeps,
  page: readonly DimensionChange[],
  upTo: number,
): Promise<number> {
  let rows = 0
  const byTable = groupBy(page, ({ table }) => table)
  for (const table of DIMENSION_TABLES) {
    const lines: string[] = []
    for (const [namespaceId, ofNamespace] of groupBy(byTable.get(table.name) ?? [], (one) => one.namespaceId))
      lines.push(
        ...(await changes.readRows(
          namespaceId,
          table,
          ofNamespace.map(({ id }) => id),
          upTo,
        )),
      )
    if (lines.length === 0) continue
    reached('dimensions-read')
    await copies.insertLines(table, lines)
    reached('dimensions-stored')
    rows += lines.length
  }
  return rows
}
