import type { EnvReader } from '../config/env-reader.ts'

/** Threads of Node's pool that are left for files, name look-ups and compression. */
const THREADS_LEFT = 4

const CONNECTIONS_MIN = 2

/** Connections that only the loader uses, so that no reader keeps it waiting. */
export const LOADER_CONNECTIONS = 2

/** Rollups in the same process need only one connection, because they run one statement after the other. */
export const ROLLUP_CLICKHOUSE_CONNECTIONS = 1

const OWN_CONNECTIONS = LOADER_CONNECTIONS + ROLLUP_CLICKHOUSE_CONNECTIONS

/** Reads the settings of ClickHouse. */
export function readClickHouseConfig(read: EnvReader) {
  const threads = read.integer('UV_THREADPOOL_SIZE', {
    about: "threads of Node's pool; each query of the embedded ClickHouse takes one while it runs",
    default: 4,
    min: 1,
    max: 1_024,
  })
  const analystQueries = read.integer('ANALYST_QUERIES', {
    about: 'long queries of analysts at once, on the embedded ClickHouse; more wait',
    default: threads < 12 ? 1 : 3,
    min: 1,
    max: 100,
  })
  const database = readDatabase(read)
  const url = read.url('CLICKHOUSE_URL', SCHEMES, { about: URL_ABOUT })
  const connections = readConnections(
    read,
    Math.max(CONNECTIONS_MIN, threads - THREADS_LEFT - analystQueries - OWN_CONNECTIONS),
  )
  const threadsTaken = connections + analystQueries + OWN_CONNECTIONS
  if (url === undefined && connections > CONNECTIONS_MIN && threadsTaken > threads)
    read.refuse(
      `UV_THREADPOOL_SIZE must be at least ${threadsTaken + THREADS_LEFT} for these CLICKHOUSE_CONNECTIONS and ANALYST_QUERIES`,
    )
  refusePath(read, url)
  return { url, database, analystQueries, queryTimeoutS: readQueryTimeoutS(read), connections }
}

/** Reads the settings of ClickHouse for a service in a process of its own. */
export function readClickHouseServerConfig(read: EnvReader) {
  const database = readDatabase(read)
  const url = read.requiredUrl('CLICKHOUSE_URL', SCHEMES, { about: URL_ABOUT })
  refusePath(read, url)
  return { url, database, queryTimeoutS: readQueryTimeoutS(read) }
}

/** Reads how many queries of requests may run at once. */
export const readConnections = (read: EnvReader, fallback: number): number =>
  read.integer('CLICKHOUSE_CONNECTIONS', {
    about: 'queries of requests in ClickHouse at once; more wait',
    default: fallback,
    min: CONNECTIONS_MIN,
    max: 500,
  })

const SCHEMES = ['http:', 'https:']

const URL_ABOUT = 'a ClickHouse server of version 26.7 or later; unset: embedded in DATA_DIR'

function readDatabase(read: EnvReader): string {
  const database = read.string('CLICKHOUSE_DATABASE', {
    about: 'the database in ClickHouse',
    default: 'tally',
  })
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,60}$/.test(database))
    read.refuse('CLICKHOUSE_DATABASE must be a name of letters, digits and underscores')
  return database
}

const readQueryTimeoutS = (read: EnvReader): number =>
  read.integer('CLICKHOUSE_QUERY_TIMEOUT_S', {
    about: 'seconds one query may take',
    default: 30,
    min: 1,
    max: 3_600,
  })

/** Refuses a URL with a path: @clickhouse/client would use the path as the database, instead of CLICKHOUSE_DATABASE. */
function refusePath(read: EnvReader, url: string | undefined): void {
  if (url !== undefined && url !== '' && new URL(url).pathname !== '/')
    read.refuse('CLICKHOUSE_URL must have no path: CLICKHOUSE_DATABASE names the database')
}
