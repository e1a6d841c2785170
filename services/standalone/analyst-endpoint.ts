import { randomBytes } from 'node:crypto'
import { queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { readOrMakeSecret } from '../../shared/config/secret-file.ts'
import type { Access } from '../../shared/http/open-access.ts'
import type { Servers } from '../../shared/http/open-servers.ts'
import { analystMetrics } from '../analysts/analyst-metrics.ts'
import { openAnalysts } from '../analysts/analysts.ts'
import { clickHouseHttp } from '../analysts/http-endpoint.ts'
import { portsOf } from './ports.ts'
import type { Start } from './start.ts'

export const ANALYST_PASSWORD_FILE = 'analyst-password'

/** The longest header of a request. ClickHouse takes URLs of this length, and clients put parameters in them. */
const HEADER_BYTES_MAX = 1_024 * 1_024
/**
 * There are few connections, because each may have a header of HEADER_BYTES_MAX in memory before its password is
 * checked. One address may have half of the connections.
 */
const CONNECTIONS_MAX = 128

/**
 * Opens the port where analysts query the embedded ClickHouse. For a ClickHouse server no port is opened, because the
 * server has its own.
 *
 * @returns the port, or undefined when ClickHouse is a server
 * @throws StartupError when the port is taken
 */
export async function startAnalystEndpoint(
  { config, folder, engines, opened, metrics, log }: Start,
  servers: Servers,
  access: Access,
): Promise<number | undefined> {
  const { client, database, engine } = engines.clickhouse
  if (engine === undefined) return undefined
  const { waitingMax, limits } = config.analysts
  const password = await readOrMakeSecret(folder.join(ANALYST_PASSWORD_FILE), () =>
    randomBytes(24).toString('base64url'),
  )
  const analysts = await openAnalysts({
    engine,
    database,
    password,
    connections: config.clickhouse.analystQueries,
    waitingMax,
    limits,
  })
  opened.push(analysts)
  const [facts] = await queryRows<{ version: string; timeZone: string }>(
    client,
    'SELECT version() AS version, timezone() AS timeZone',
    {},
  )
  if (facts === undefined) throw new Error('the embedded ClickHouse does not know its version')
  const server = await servers.open(
    clickHouseHttp({
      users: [analysts],
      facts,
      log: log.child({ part: 'analysts' }),
      metrics: analystMetrics(metrics, analysts.waiting),
      wrongPasswords: access.limits.wrongPasswords,
    }),
    {
      ...portsOf(config).analysts,
      headerBytesMax: HEADER_BYTES_MAX,
      connectionsMax: CONNECTIONS_MAX,
    },
  )
  return server.port
}
