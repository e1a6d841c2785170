import { slotTotalsKeptFrom } from '../../shared/clickhouse/rollups/build-epoch.ts'
import type { RollupEpoch } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import type { RollupDeps } from './rollup-deps.ts'

/** Slots that are read in one go. */
const SLOTS_AT_ONCE_S = 3_600

/**
 * Computes the totals of slots anew after some were closed without: by a rollup service from before there were totals, which may
 * have recomputed late slots without them too. Readers do without until it is done.
 *
 * @returns how many rows ClickHouse read
 */
export async function fillSlotTotals(
  { epochs, tables, signal }: RollupDeps,
  target: RollupEpoch,
  now: number,
): Promise<number> {
  const { epoch, closedThrough } = target
  let rowsRead = 0
  for (let from = slotTotalsKeptFrom(now); from < closedThrough; from += SLOTS_AT_ONCE_S) {
    signal.throwIfAborted()
    const range = { startAt: from, endAt: Math.min(from + SLOTS_AT_ONCE_S, closedThrough) }
    rowsRead += await tables.copySlots(target, range)
    rowsRead += await tables.computeSlotTotals(target, range)
  }
  await epochs.filledSlotTotals(epoch, closedThrough)
  return rowsRead
}
