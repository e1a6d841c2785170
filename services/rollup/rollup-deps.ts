import type { dirtySlotRepository } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import type { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import type { rollupTables } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { RollupPoint } from './crash-points.ts'

export interface RollupDeps {
  epochs: ReturnType<typeof rollupEpochRepository>
  tables: ReturnType<typeof rollupTables>
  dirty: ReturnType<typeof dirtySlotRepository>
  reached: Reached<RollupPoint>
  signal: AbortSignal
}
