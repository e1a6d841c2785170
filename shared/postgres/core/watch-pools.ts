import type { Pool } from './pool.ts'
import type { Metrics } from '../../metrics/metrics.ts'

/** Shows how many connections the pools of a process have, and how many wait for one. */
export function watchPools(metrics: Metrics, pools: Readonly<Record<string, Pool>>): void {
  const connections = metrics.gauge('tally_postgres_connections', 'Connections to PostgreSQL.', [
    'pool',
    'state',
  ])
  const waiting = metrics.gauge('tally_postgres_waiting', 'Callers that wait for a connection.', ['pool'])
  metrics.beforeScrape(() => {
    for (const [name, pool] of Object.entries(pools)) {
      connections.set([name, 'idle'], pool.idleCount)
      connections.set([name, 'busy'], pool.totalCount - pool.idleCount)
      waiting.set([name], pool.waitingCount)
    }
  })
}
