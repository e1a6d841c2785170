import type { EnvReader } from '../../config/env-reader.ts'

/** The embedded server accepts 100 connections. Some of them are not for requests. */
const EMBEDDED_CONNECTIONS_MAX = 50

const SCHEMES = ['postgres:', 'postgresql:']

const URL_ABOUT = 'a PostgreSQL server, for the role the services run as; unset: embedded in DATA_DIR'

/** Reads the settings of PostgreSQL. */
export function readPostgresConfig(read: EnvReader) {
  const url = read.url('DATABASE_URL', SCHEMES, { about: URL_ABOUT })
  const ownerUrl = read.url('DATABASE_OWNER_URL', SCHEMES, {
    about: 'the same server, for the role that owns the tables and migrates them',
  })
  if (url !== undefined && ownerUrl === undefined)
    read.refuse(
      'DATABASE_OWNER_URL is needed with DATABASE_URL: the services run as a role that owns nothing',
    )
  const connectionsMax = readConnectionsMax(read)
  if (url === undefined && connectionsMax > EMBEDDED_CONNECTIONS_MAX)
    read.refuse(`DATABASE_CONNECTIONS_MAX must be at most ${EMBEDDED_CONNECTIONS_MAX} without DATABASE_URL`)
  return {
    server: url === undefined || ownerUrl === undefined ? undefined : { url, ownerUrl },
    connectionsMax,
    statementTimeoutMs: readStatementTimeoutMs(read),
  }
}

/**
 * Reads the settings of PostgreSQL for a service in a process of its own. Such a service migrates nothing, so it needs
 * no owner.
 */
export const readPostgresServerConfig = (read: EnvReader) => ({
  url: read.requiredUrl('DATABASE_URL', SCHEMES, { about: URL_ABOUT }),
  statementTimeoutMs: readStatementTimeoutMs(read),
})

/** Reads the settings of PostgreSQL for a command, which needs no owner, and whose server may be the embedded one. */
export const readPostgresCommandConfig = (read: EnvReader) => ({
  url: read.url('DATABASE_URL', SCHEMES, { about: URL_ABOUT }),
  statementTimeoutMs: readStatementTimeoutMs(read),
})

export const readConnectionsMax = (read: EnvReader): number =>
  read.integer('DATABASE_CONNECTIONS_MAX', {
    about:
      'connections to PostgreSQL for requests other than reports; reports and the event log have pools of their own',
    default: 20,
    min: 2,
    max: 500,
  })

/** The default is far more than any healthy statement takes. */
const readStatementTimeoutMs = (read: EnvReader): number =>
  read.tuning('DATABASE_STATEMENT_TIMEOUT_MS', {
    default: 10_000,
    min: 100,
    max: 600_000,
  })
