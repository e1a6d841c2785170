import type { RollupConfig } from '../../services/rollup/config.ts'
import { keepRollups, type KeepRollupsDeps, type RollupKeeper } from '../../services/rollup/keep-rollups.ts'
import { rollupMetrics } from '../../services/rollup/rollup-metrics.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { dirtySlotRepository } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import { testLog } from './log.ts'

/**
 * A rollup service in this process, which does not build rollups at its start. @param changes the options that differ
 * from the defaults
 */
export const openKeeper = (
  client: ClickHouse,
  config: RollupConfig,
  changes: Partial<KeepRollupsDeps> = {},
): RollupKeeper =>
  keepRollups(
    {
      epochs: rollupEpochRepository(client),
      tables: rollupTables(client, config.queryTimeoutS),
      dirty: dirtySlotRepository(client),
      reached: () => undefined,
      build: () => Promise.resolve(),
      counter: { step: () => Promise.resolve(), cancel: () => Promise.resolve() },
      metrics: rollupMetrics(openMetrics()),
      log: testLog,
      ...changes,
    },
    config,
  )
