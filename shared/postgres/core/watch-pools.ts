import type { Metrics } from '../../metrics/metrics.ts'
import type { Pool } from './pool.ts'
import { turnsOf } from './pool-turns.ts'

/** Shows how many connections the pools of a process have, and how many wait for one. */
export function watchPools(metrics: Metrics, pools: Readonly<Record<string, Pool>>): void {
  const connections = metrics.gauge('tally_postgres_connections', 'Connections to PostgreSQL.', [
    'pool',
    'state',
  ])
  const waiting = metrics.gauge('tally_postgres_waiting', 'Callers that wait for a connection.', ['pool'])
  const locks = metrics.gauge(
    'tally_postgres_lock_waiting',
    'Requests that wait, without a connection, for other requests that change the same resource.',
    ['pool'],
  )
  metrics.beforeScrape(() => {
    for (const [name, pool] of Object.entries(pools)) {
      connections.set([name, 'idle'], pool.idleCount)
      connections.set([name, 'busy'], pool.totalCount - pool.idleCount)
      waiting.set([name], pool.waitingCount + (turnsOf(pool)?.connections.queued ?? 0))
      locks.set([name], turnsOf(pool)?.locks.queued ?? 0)
    }
  })
}
