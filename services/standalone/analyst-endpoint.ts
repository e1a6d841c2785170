import { randomBytes } from 'node:crypto'
import { queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { readOrMakeSecret } from '../../shared/config/secret-file.ts'
import type { Servers } from '../../shared/http/open-servers.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import { analystDatabaseRepository, analystRepository } from '../../shared/postgres/analysts.ts'
import { analystMetrics } from '../analysts/analyst-metrics.ts'
import { scopeOfAll, scopeOfCompany } from '../analysts/analyst-scope.ts'
import { analystUsers } from '../analysts/analyst-users.ts'
import { type Analysts, openAnalysts, USER_OF_ALL } from '../analysts/analysts.ts'
import { type EndpointUsers, type FixedUser, fixedUsers } from '../analysts/endpoint-user.ts'
import { ClickHouseException } from '../analysts/exception.ts'
import { clickHouseHttp } from '../analysts/http-endpoint.ts'
import type { Parts } from './apps.ts'
import { ANALYST_PASSWORD_FILE } from './data-folder.ts'
import { portsOf } from './ports.ts'
import type { Start } from './start.ts'

/** The longest header of a request. ClickHouse takes URLs of this length, and clients put parameters in them. */
const HEADER_BYTES_MAX = 1_024 * 1_024
/**
 * There are few connections, because each may have a header of HEADER_BYTES_MAX in memory before its password is
 * checked. One address may have half of the connections. Pools of drivers keep far fewer (ClickHouse's client for
 * JavaScript 10), and an idle connection gives way to a new one.
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
  start: Start,
  servers: Servers,
  parts: Pick<Parts, 'reportPool' | 'purges' | 'access'>,
): Promise<number | undefined> {
  const { config, engines, opened, metrics, log } = start
  const { client, database, engine } = engines.clickhouse
  if (engine === undefined) return undefined
  const [first] = await analystDatabaseRepository(parts.reportPool).list()
  const analysts = await openAnalysts({
    ...config.analysts,
    scopes: first === undefined ? [] : [scopeOfCompany(database, first.number)],
    engine,
    database,
    connections: config.clickhouse.analystQueries,
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
      users: await usersOf(start, analysts, parts),
      facts,
      log: log.child({ part: 'analysts' }),
      metrics: analystMetrics(metrics, analysts.waiting),
      limits: parts.access.limits,
    }),
    {
      ...portsOf(config).analysts,
      headerBytesMax: HEADER_BYTES_MAX,
      connectionsMax: CONNECTIONS_MAX,
      idleGiveWay: true,
    },
  )
  return server.port
}

/** The analysts of companies, and the one who sees all companies. */
async function usersOf(
  { config, folder, engines, log }: Start,
  analysts: Analysts,
  { reportPool, purges }: Pick<Parts, 'reportPool' | 'purges'>,
): Promise<EndpointUsers> {
  const { database } = engines.clickhouse
  const repository = analystRepository(reportPool)
  const ofCompanies = analystUsers({
    list: () =>
      repository.listValid().catch((err: unknown) => {
        log.warn({ err: loggableError(err) }, 'could not read who may sign in as an analyst')
        throw new ClickHouseException(
          [209, 'SOCKET_TIMEOUT'],
          'who may sign in cannot be read now: try again.',
        )
      }),
    purges,
    serve: ({ name, company, number }) =>
      analysts.userOf({ name, company, scope: scopeOfCompany(database, number) }),
    endQueries: (name) => {
      analysts.endQueriesOf(name)
    },
  })
  const fixed: FixedUser[] = []
  if (config.analysts.seesAll) {
    const password = await readOrMakeSecret(folder.join(ANALYST_PASSWORD_FILE), () =>
      randomBytes(24).toString('base64url'),
    )
    fixed.push({ ...analysts.userOf({ name: USER_OF_ALL, scope: scopeOfAll(database) }), password })
  }
  return fixedUsers(fixed, ofCompanies)
}
