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

/** A step of a rollup service. Closing and building end a number of seconds before now. */
export type RollupStep =
  { kind: 'close'; upTo: number } | { kind: 'late' } | { kind: 'rebuild'; upTo: number }

/** The crash points of each step. */
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

/** Seconds after which a pending mark counts as ready. An insert never takes as long. */
export const ORPHAN_S = 600

/** Usage is late from this many seconds before the end of its slot. */
const MARGIN_S = 15

/** Marks are processed without a wait. */
export const MARKS_AFTER = { orphanS: ORPHAN_S, lateAfterS: 0 }

/** Processes the marks. */
export async function workOffLate(deps: RollupDeps, after: MarksAfter = MARKS_AFTER): Promise<void> {
  await recomputeLate(deps, after)
}

/** Stores events in one insert, like the loader. */
export async function storeAsLoader(
  { writing, epochs }: Pick<RollupStage, 'writing' | 'epochs'>,
  ...events: readonly UsageEvent[]
): Promise<void> {
  const { insertLines } = usageEventRepository(writing)
  const dirty = dirtySlotRepository(writing)
  const store = markLate({ epochs, dirty, insertLines, reached: () => undefined }, MARGIN_S)
  await store(Buffer.from(events.map(usageEventToLine).join('\n')), events.map(subjectOf))
}

class Crash extends Error {}

/** Returns a callback for crash points, which throws at one of them. */
export const crashingAt =
  (point: string | undefined) =>
  (reached: string): void => {
    if (reached === point) throw new Crash(reached)
  }

/** Runs work until its crash point. @returns whether it crashed */
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
 * Runs a step of a rollup service, and returns whether it crashed.
 *
 * @param crashAt the point at which the step ends, as after a power failure
 * @param pause awaited between any two statements
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
