import { allAnswer } from '../../shared/admin/probes.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import type { Loader } from './load-usage.ts'

export interface LoadsDeps {
  loader: Pick<Loader, 'listTroubles'>
  pool: Pool
  clickhouse: ClickHouse
  /** How long the loader may fail without a break. */
  failingMaxMs: number
  log: Logger
}

/** Whether both databases answer and the loader gets on; what is in its way is logged. */
export async function loads({ loader, pool, clickhouse, failingMaxMs, log }: LoadsDeps): Promise<boolean> {
  const troubles = loader.listTroubles(failingMaxMs)
  for (const trouble of troubles) log.warn(trouble, 'not ready: the loader does not get on')
  const answers = await allAnswer(
    () => pool.query('SELECT 1'),
    async () => (await clickhouse.ping()).success,
  )
  return answers && troubles.length === 0
}
