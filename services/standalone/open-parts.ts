import { deleteNamespaces } from '../../shared/clickhouse/events/delete-namespaces.ts'
import { openAccess } from '../../shared/http/open-access.ts'
import { stuckAfterMs } from '../../shared/lifecycle/stuck-after-ms.ts'
import { followClock } from '../../shared/postgres/core/follow-clock.ts'
import { openSharing } from '../../shared/redis/open-sharing.ts'
import { getsOn } from '../../shared/service/gets-on.ts'
import { keepEmptying } from '../api/test-area/empty-retired-namespaces.ts'
import { LOADER_TROUBLE } from '../loader/open-loader.ts'
import type { Parts } from './apps.ts'
import type { EventFlow } from './open-event-flow.ts'
import type { Pools } from './open-pools.ts'
import type { Start } from './start.ts'

/** Opens the services that answer requests, and the work that deletes the usage of retired namespaces. */
export async function openParts(start: Start, pools: Pools, flow: EventFlow): Promise<Parts> {
  const { config, engines, opened, metrics, log } = start
  const pool = pools.api
  const clickhouse = engines.clickhouse.client
  const sharing = await openSharing(config.redis, opened, log)
  const databaseClock = await followClock(pool, log)
  opened.push(databaseClock)
  const accessParts = { pool: pools.gateway, worlds: pools.worlds, sharing }
  const access = openAccess(accessParts, config.rateLimits, opened, log)
  const emptyingParts = { pool, deleteNamespaces: deleteNamespaces(clickhouse), listedUpTo: flow.listedUpTo }
  opened.push(keepEmptying(emptyingParts, config.api.emptyEveryMs, log))
  return {
    ...flow,
    ...probesOf(start, pools, flow),
    pool,
    reportPool: pools.gateway,
    clickhouse,
    rollupClickhouse: engines.rollupClickhouse.client,
    nowMs: databaseClock.nowMs,
    metrics,
    purges: sharing.purges,
    access,
  }
}

/** Reports whether the loader makes progress, and the databases answer. */
function probesOf(
  { config, engines, log }: Start,
  { api: pool }: Pools,
  { acceptance, loader }: EventFlow,
): Pick<Parts, 'isLive' | 'isReady'> {
  const stuckMs = stuckAfterMs({ ...config.postgres, ...config.clickhouse })
  return {
    isLive: () => !loader.isStuck(stuckMs),
    isReady: async () =>
      acceptance.isOpen &&
      (await getsOn({
        work: loader,
        pool,
        clickhouse: engines.clickhouse.client,
        failingMaxMs: config.loader.failingMaxMs,
        trouble: LOADER_TROUBLE,
        log,
      })),
  }
}
