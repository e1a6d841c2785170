import { openClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { openClickHouseServer } from '../../shared/clickhouse/open-server.ts'
import { isOutOfReach } from '../../shared/errors/out-of-reach.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { listedUpToOf } from '../../shared/event-log/listed-up-to.ts'
import { openEventLog } from '../../shared/event-log/open-event-log.ts'
import { type Closeable, closeAll } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { openPool } from '../../shared/postgres/core/pool.ts'
import { requirePostgresSchema } from '../../shared/postgres/core/require-schema.ts'
import { lowestUnderWayIn } from '../../shared/postgres/lowest-under-way.ts'
import { openPurger } from '../../shared/redis/purges.ts'
import type { CommandContext, Installation, UsageEngines } from './command.ts'
import { doctor } from './commands/doctor.ts'
import type { OperatorConfig } from './config.ts'
import { runCommand } from './run-command.ts'

const CONNECTIONS = 4

/**
 * Runs a command with its own connections to the servers.
 * @returns the exit code
 */
export async function runOnServers(
  servers: NonNullable<OperatorConfig['servers']>,
  name: string,
  args: readonly string[],
  log: Logger,
  context: Omit<CommandContext, 'log'>,
): Promise<number> {
  const opened: Closeable[] = []
  try {
    const { databaseUrl, statementTimeoutMs, eventLog, clickhouse: ch, redis } = servers
    const pool = openPool({
      url: databaseUrl,
      name: `tally ${name}`,
      connectionsMax: CONNECTIONS,
      statementTimeoutMs,
      log,
    })
    opened.push({ name: 'PostgreSQL pool', close: () => pool.end() })
    // The doctor must also run when migrations are missing, because it reports them. Other commands would fail at a
    // missing column.
    const isExamined = name === doctor.name
    if (!isExamined) await requirePostgresSchema(pool)
    const openCh = async (queryTimeoutS = ch.queryTimeoutS) => {
      const server = { ...ch, queryTimeoutS }
      if (!isExamined) return openClickHouseServer(server, ch.connections, pool, opened)
      const clickhouse = await openClickHouse(server)
      opened.push(clickhouse)
      return clickhouse.client
    }
    const openLog = async () => {
      const eventsIn = await openEventLog(eventLog, { pool, alone: false, housekeeping: false, log })
      opened.push(eventsIn)
      return eventsIn
    }
    const openUsage = async (): Promise<UsageEngines> => {
      const [clickhouse, eventsIn] = [await openCh(), await openLog()]
      const lowestUnderWay = lowestUnderWayIn(pool, { looksOnce: true })
      return {
        clickhouse,
        log: eventsIn,
        listedUpTo: listedUpToOf({ lowestUnderWay, eventLog: eventsIn }),
      }
    }
    const purges = await openPurger(redis, opened, log)
    const deps = {
      pool,
      openUsage,
      openClickHouse: openCh,
      openEventLog: openLog,
      purges,
      installation: installationOn(servers),
      embedded: undefined,
    }
    return await runCommand(name, args, deps, log, context)
  } catch (err) {
    if (!(err instanceof StartupError) && isOutOfReach(err))
      throw new StartupError(`a database cannot be reached: PostgreSQL (DATABASE_URL): ${String(err)}`, {
        cause: err,
      })
    throw err
  } finally {
    await closeAll(opened, log)
  }
}

const installationOn = ({
  databaseUrl,
  eventLog,
  clickhouse: { url, database },
  redis,
}: NonNullable<OperatorConfig['servers']>): Installation => ({
  eventLog,
  redis,
  dataFolder: undefined,
  urls: { DATABASE_URL: databaseUrl, CLICKHOUSE_URL: url },
  database,
  analystAddress: () => undefined,
  hosts: undefined,
})
