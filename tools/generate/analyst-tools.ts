/** A version that the tests have, read from the file that pins it. */
export interface TestedVersion {
  name: string
  file: string
  /** Its first group is the version. */
  form: RegExp
}

/** A tool for analysts, and what the tests have run of it. */
export interface AnalystTool {
  name: string
  /** What the tests run: the tool itself, only its driver, or only the statements that it sends. */
  by: 'itself' | 'its driver' | 'its statements' | 'its driver and its statements'
  versions: readonly TestedVersion[]
  works: string
  fails: string
  /** The address and settings, as code. */
  connect: string
  /** The test files. */
  tests: readonly string[]
}

const TESTS = 'test/services/analysts'
const CLIENTS = `${TESTS}/clients.test.ts`
const STATEMENTS = `${TESTS}/tool-statements.test.ts`
const ATTACKS = `${TESTS}/attacks.test.ts`

const JDBC: TestedVersion = {
  name: 'clickhouse-jdbc',
  file: `${TESTS}/clients/java/pom.xml`,
  form: /<artifactId>clickhouse-jdbc<\/artifactId>\s*<version>([\d.]+)/,
}
const SQL_ALCHEMY: TestedVersion = {
  name: 'SQLAlchemy',
  file: `${TESTS}/clients/python/requirements.txt`,
  form: /SQLAlchemy==([\d.]+)/,
}
const CONNECT: TestedVersion = {
  name: 'clickhouse-connect',
  file: `${TESTS}/clients/python/requirements.txt`,
  form: /clickhouse-connect==([\d.]+)/,
}
const JDBC_URL = 'jdbc:clickhouse://127.0.0.1:8123'
const READ_ONLY = 'Inserts and tables of your own are refused.'

/** The list of the page for analysts' tools. */
export const ANALYST_TOOLS: readonly AnalystTool[] = [
  {
    name: 'JavaScript and TypeScript',
    by: 'itself',
    versions: [
      { name: '@clickhouse/client', file: 'package.json', form: /"@clickhouse\/client": "([\d.]+)"/ },
    ],
    works: 'Ping, queries in JSON, parameters, streams, errors. Decimals are text in JSON.',
    fails: READ_ONLY,
    connect: "createClient({ url: 'http://127.0.0.1:8123', username: 'ada', password: '…' })",
    tests: [`${TESTS}/analysts.test.ts`, `${TESTS}/streamed-answers.test.ts`, ATTACKS],
  },
  {
    name: 'Java',
    by: 'itself',
    versions: [JDBC],
    works:
      'Queries, prepared statements, `setMaxRows`, errors. `DatabaseMetaData`: schemas, tables, columns, functions, types; keys are empty.',
    fails: READ_ONLY,
    connect: JDBC_URL,
    tests: [CLIENTS, STATEMENTS, ATTACKS],
  },
  {
    name: 'Go',
    by: 'itself',
    versions: [
      {
        name: 'clickhouse-go',
        file: `${TESTS}/clients/go/go.mod`,
        form: /clickhouse-go\/v2 v([\d.]+)/,
      },
    ],
    works: 'Ping, queries, parameters, errors, without compression and with LZ4, ZSTD and GZIP.',
    fails: READ_ONLY,
    connect: 'clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{"127.0.0.1:8123"}, Auth: …}',
    tests: [CLIENTS, ATTACKS],
  },
  {
    name: 'Python',
    by: 'itself',
    versions: [CONNECT],
    works: 'Queries and streams, parameters, commands, errors, with each way of compression.',
    fails: READ_ONLY,
    connect: "clickhouse_connect.get_client(host='127.0.0.1', port=8123, username='ada', password='…')",
    tests: [CLIENTS, STATEMENTS, ATTACKS],
  },
  {
    name: 'SQLAlchemy',
    by: 'itself',
    versions: [SQL_ALCHEMY, CONNECT],
    works: 'Queries; schemas, views, columns, reflection of a table.',
    fails: READ_ONLY,
    connect: 'clickhousedb://ada:PASSWORD@127.0.0.1:8123',
    tests: [CLIENTS, STATEMENTS, ATTACKS],
  },
  {
    name: 'Grafana',
    by: 'its driver and its statements',
    versions: [
      {
        name: 'clickhouse-go',
        file: `${TESTS}/clients/grafana/go.mod`,
        form: /clickhouse-go\/v2 v([\d.]+)/,
      },
      {
        name: 'data source',
        file: `${TESTS}/tools/grafana.sql`,
        form: /Grafana's data source for ClickHouse (\d+)/,
      },
    ],
    works:
      'Health check, completion, macros, variables, ad-hoc filters, each panel of [the dashboard](../../deploy/monitoring/usage.json).',
    fails: READ_ONLY,
    connect: 'protocol: http, host: 127.0.0.1, port: 8123, username: ada, defaultDatabase: default',
    tests: [`${TESTS}/grafana.test.ts`, STATEMENTS, ATTACKS],
  },
  {
    name: 'ibis',
    by: 'its statements',
    versions: [{ name: 'ibis', file: `${TESTS}/tools/python.sql`, form: /ibis (\d+)/ }],
    works: 'Lists of databases and tables, schemas of tables, selections and groups.',
    fails: READ_ONLY,
    connect: "ibis.clickhouse.connect(host='127.0.0.1', port=8123, user='ada', password='…')",
    tests: [STATEMENTS, ATTACKS],
  },
  {
    name: 'dbt',
    by: 'itself',
    versions: [
      { name: 'dbt-core', file: 'clients/dbt/requirements.txt', form: /dbt-core==([\d.]+)/ },
      { name: 'dbt-clickhouse', file: 'clients/dbt/requirements.txt', form: /dbt-clickhouse==([\d.]+)/ },
    ],
    works:
      '`debug`, `compile`, `source freshness`, `test`, `docs generate`, `show`; the package `clients/dbt`, over the port and in DuckDB ([how](analysts.md#dbt)).',
    fails: 'Over the port, models that are views, tables or incremental, because nothing may be created.',
    connect:
      'type: clickhouse, driver: http, host: 127.0.0.1, port: 8123, user: ada, schema: as SHOW DATABASES has it',
    tests: ['test/long/dbt.test.ts', STATEMENTS, ATTACKS],
  },
  {
    name: 'DBeaver',
    by: 'its driver and its statements',
    versions: [JDBC],
    works: 'What its driver asks for the list of databases, views and columns; `SHOW`, `EXPLAIN`.',
    fails: READ_ONLY,
    connect: JDBC_URL,
    tests: [CLIENTS, STATEMENTS, ATTACKS],
  },
  {
    name: 'Metabase',
    by: 'its driver and its statements',
    versions: [JDBC],
    works: 'What it asks when it reads the schema.',
    fails: READ_ONLY,
    connect: JDBC_URL,
    tests: [CLIENTS, STATEMENTS, ATTACKS],
  },
  {
    name: 'Tableau',
    by: 'its driver',
    versions: [JDBC],
    works: 'As Java.',
    fails: READ_ONLY,
    connect: JDBC_URL,
    tests: [CLIENTS, ATTACKS],
  },
  {
    name: 'Superset',
    by: 'its driver',
    versions: [SQL_ALCHEMY, CONNECT],
    works: 'As SQLAlchemy.',
    fails: READ_ONLY,
    connect: 'clickhousedb://ada:PASSWORD@127.0.0.1:8123',
    tests: [CLIENTS, ATTACKS],
  },
  {
    name: 'Lightdash and Cube',
    by: 'its statements',
    versions: [],
    works: 'What they ask for the list of views and columns; `KILL QUERY` of own queries.',
    fails: READ_ONLY,
    connect: 'host 127.0.0.1, port 8123, user ada, no TLS',
    tests: [STATEMENTS, ATTACKS],
  },
]
