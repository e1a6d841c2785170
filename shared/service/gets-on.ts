import type { ClickHouse } from '../clickhouse/clickhouse.ts'
import type { Trouble } from '../lifecycle/activity.ts'
import type { Logger } from '../logging/logger.ts'
import type { Pool } from '../postgres/core/pool.ts'
import { allAnswer } from './probes.ts'

export interface GetsOnDeps {
  /** Work that the process repeats by itself. */
  work: { listTroubles: (forMs: number) => readonly Trouble[] }
  pool: Pool
  clickhouse: ClickHouse
  /** The longest time that the work may fail without a success. */
  failingMaxMs: number
  /** The consequence, for the log: `the loader makes no progress`. */
  trouble: string
  log: Logger
}

/** Whether both databases answer and the work makes progress. It logs the work that makes no progress. */
export async function getsOn({
  work,
  pool,
  clickhouse,
  failingMaxMs,
  trouble: what,
  log,
}: GetsOnDeps): Promise<boolean> {
  const troubles = work.listTroubles(failingMaxMs)
  for (const trouble of troubles) log.warn(trouble, `not ready: ${what}`)
  const answers = await allAnswer(
    () => pool.query('SELECT 1'),
    async () => (await clickhouse.ping()).success,
  )
  return answers && troubles.length === 0
}
