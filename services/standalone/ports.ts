import { StartupError } from '../../shared/errors/startup-error.ts'
import { type HttpServer, type HttpServerOptions, listen } from '../../shared/http/http-server.ts'
import type { StandaloneConfig } from './config.ts'

/** Host and port of a server, and the settings that decide them. */
type Port = Pick<HttpServerOptions, 'name' | 'host' | 'port' | 'portSetting' | 'hostSetting'>

/** The ports of Tally. The analysts' port is opened only with the embedded ClickHouse. */
export const portsOf = (config: StandaloneConfig) =>
  ({
    api: {
      name: 'the HTTP API',
      host: config.host,
      port: config.port,
      portSetting: 'PORT',
      hostSetting: 'HOST',
    },
    admin: {
      name: 'the admin port',
      host: config.admin.host,
      port: config.admin.port,
      portSetting: 'ADMIN_PORT',
      hostSetting: 'ADMIN_HOST',
    },
    analysts: {
      name: 'the port of analysts',
      host: config.analystHost,
      port: config.analystPort,
      portSetting: 'CLICKHOUSE_HTTP_PORT',
      hostSetting: 'CLICKHOUSE_HTTP_HOST',
    },
  }) satisfies Record<string, Port>

/**
 * Checks that all ports are free, before the start makes anything. It opens all of them at the same time, then closes
 * them.
 *
 * @throws StartupError that names every port that cannot be opened
 */
export async function requirePorts(config: StandaloneConfig): Promise<void> {
  const { api, admin, analysts } = portsOf(config)
  const wanted: Port[] = config.clickhouse.url === undefined ? [api, admin, analysts] : [api, admin]
  const servers: HttpServer[] = []
  const faults: string[] = []
  for (const port of wanted)
    await listen(() => undefined, { ...port, closeTimeoutMs: 0 }).then(
      (server) => servers.push(server),
      (err: unknown) => {
        if (!(err instanceof StartupError)) throw err
        faults.push(err.message)
      },
    )
  await Promise.all(servers.map((server) => server.close()))
  if (faults.length > 0) throw new StartupError(faults.join('\n'))
}
