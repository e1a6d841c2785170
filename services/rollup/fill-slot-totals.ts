import { slotTotalsKeptFrom } from '../../shared/clickhouse/rollups/build-epoch.ts'
import type { RollupEpoch } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { DAY_S } from '../../shared/domain/usage-cover.ts'
import type { RollupDeps } from './rollup-deps.ts'

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
  // A day in one go: slots are in order of accounts, and any stretch of them reads the whole day.
  for (let from = slotTotalsKeptFrom(now); from < closedThrough; from += DAY_S) {
    signal.throwIfAborted()
    const range = { startAt: from, endAt: Math.min(from + DAY_S, closedThrough) }
    rowsRead += await tables.copySlots(target, range)
    rowsRead += await tables.computeSlotTotals(target, range)
  }
  await epochs.filledSlotTotals(epoch, closedThrough)
  return rowsRead
}
