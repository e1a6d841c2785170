import { markLate } from '../../services/loader/mark-late.ts'
import { closeSlots } from '../../services/rollup/close-slots.ts'
import type { RollupPoint } from '../../services/rollup/crash-points.ts'
import { recomputeLate } from '../../services/rollup/recompute-late.ts'
import type { RollupDeps } from '../../services/rollup/rollup-deps.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import { buildEpoch } from '../../shared/clickhouse/rollups/build-epoch.ts'
import { dirtySlotRepository, type MarksAfter } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { subjectOf } from '../../shared/usage-lines/log-line-subjects.ts'
import { pausing } from './pausing.ts'
import type { RollupStage } from './rollup-stage.ts'

/** Something that a rollup service does in one go. Closing and building reach up to so many seconds ago. */
export type RollupStep =
  { kind: 'close'; upTo: number } | { kind: 'late' } | { kind: 'rebuild'; upTo: number }

/** Where each of them can crash. */
export const POINTS_OF: Record<RollupStep['kind'], readonly RollupPoint[]> = {
  rebuild: ['rollup-building', 'rollup-built'],
  close: [
    'rollup-closing',
    'rollup-slots',
    'rollup-slot-totals',
    'rollup-days',
    'rollup-totals',
    'rollup-months',
    'rollup-closed',
  ],
  late: [
    'rollup-marks',
    'rollup-late-slots',
    'rollup-late-slot-totals',
    'rollup-late-days',
    'rollup-late-months',
    'rollup-cancelled',
  ],
}

/** Seconds after which a pending mark counts as ready: above what an insert may take. */
export const ORPHAN_S = 600

/** Seconds before the end of its slot from which on usage is late. */
const MARGIN_S = 15

/** Marks are worked off as soon as they can be. */
export const MARKS_AFTER = { orphanS: ORPHAN_S, lateAfterS: 0 }

/** Works off what is marked. */
export async function workOffLate(deps: RollupDeps, after: MarksAfter = MARKS_AFTER): Promise<void> {
  await recomputeLate(deps, after)
}

/** Stores an event as the loader does. */
export async function storeAsLoader(
  { writing, epochs }: Pick<RollupStage, 'writing' | 'epochs'>,
  event: UsageEvent,
): Promise<void> {
  const { insertLines } = usageEventRepository(writing)
  const dirty = dirtySlotRepository(writing)
  const store = markLate({ epochs, dirty, insertLines, reached: () => undefined }, MARGIN_S)
  await store(Buffer.from(usageEventToLine(event)), [subjectOf(event)])
}

class Crash extends Error {}

/** What a service under test is told of named points: it ends at one of them. */
export const crashingAt =
  (point: string | undefined) =>
  (reached: string): void => {
    if (reached === point) throw new Crash(reached)
  }

/** Does something up to where it crashes. @returns whether it did */
export async function untilCrash(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return false
  } catch (err) {
    if (!(err instanceof Crash)) throw err
    return true
  }
}

/**
 * Takes a step as a rollup service does, and tells whether it crashed.
 *
 * @param crashAt the point at which it ends, as if the machine had lost power there
 * @param pause is awaited between any two statements
 */
export function takeRollupStep(
  client: ClickHouse,
  step: RollupStep,
  crashAt?: RollupPoint,
  pause: () => Promise<void> = () => Promise.resolve(),
): Promise<boolean> {
  const parts = {
    epochs: pausing(rollupEpochRepository(client), pause),
    tables: pausing(rollupTables(client, 30), pause),
    dirty: pausing(dirtySlotRepository(client), pause),
    reached: crashingAt(crashAt),
    signal: new AbortController().signal,
  }
  switch (step.kind) {
    case 'close':
      return untilCrash(() => closeSlots(parts, step.upTo))
    case 'late':
      return untilCrash(() => workOffLate(parts))
    case 'rebuild':
      return untilCrash(() => buildEpoch({ client, ...parts }, step.upTo))
  }
}
