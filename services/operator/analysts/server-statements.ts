import { hash } from 'node:crypto'
import { quoteIdentifier } from '../../../shared/clickhouse/quote-identifier.ts'

/** What analysts of a company need on a ClickHouse server, beside the company's database and its views. */
export interface ServerAnalyst {
  /** The services' database, and the tables in it that the views read. */
  database: string
  tables: readonly string[]
  /** The company's database, and the views in it. Its role is called like it. */
  companyDatabase: string
  views: readonly string[]
  /** The user that Tally's services sign in as. */
  service: string
  user: string
  password: string
  /** Whether the analyst gets a database for tables of its own. */
  hasWorkspace: boolean
}

/** The user whose rights the views read with. */
const DEFINER = 'tally_views'
const PROFILE = 'tally_analysts'
const BUILDER_PROFILE = 'tally_builders'
const QUOTA = 'tally_analysts'

/**
 * Every limit is fixed, except for those that clients lower by habit. With readonly = 2 a client may send settings.
 * The time, the rows and the memory are the defaults of the embedded engine.
 */
const LIMITS = [
  'allow_introspection_functions = 0 CONST',
  'max_execution_time = 30 MIN 1 MAX 30',
  'max_threads = 2 MIN 1 MAX 2',
  'max_result_rows = 1000000 MIN 1 MAX 1000000',
  'max_result_bytes = 1073741824 CONST',
  'max_memory_usage = 1073741824 CONST',
  'max_rows_to_read = 10000000000 CONST',
  'max_temporary_data_on_disk_size_for_query = 1073741824 CONST',
  'max_concurrent_queries_for_user = 3 CONST',
  "short_circuit_function_evaluation = 'enable' CONST",
  'query_plan_direct_read_from_text_index = 0 CONST',
  'optimize_move_to_prewhere_if_final = 0 CONST',
]

/** For analysts who only read. */
const READER_LIMITS = ['readonly = 2 CONST', 'allow_ddl = 0 CONST', ...LIMITS]
/** For analysts who make tables in a workspace. Only their rights keep them out of other databases. */
const BUILDER_LIMITS = ['readonly = 0', 'allow_ddl = 1 CONST', ...LIMITS]
/** What dbt does in a workspace. */
const BUILDER_RIGHTS =
  'SELECT, INSERT, ALTER TABLE, ALTER VIEW, CREATE TABLE, CREATE VIEW, DROP TABLE, DROP VIEW, TRUNCATE, OPTIMIZE, SHOW'

/** A statement, and why it is there. */
export interface ServerStatement {
  why: string
  sql: string
}

/**
 * The statements that an administrator of a ClickHouse server runs, so that an analyst signs in there and sees one
 * company. No test runs them: here is no ClickHouse server. The tests parse them with the embedded engine.
 */
export function serverStatements(of: ServerAnalyst): ServerStatement[] {
  const [user, role, database] = [of.user, of.companyDatabase, of.database].map(quoteIdentifier)
  const service = quoteIdentifier(of.service)
  const digest = hash('sha256', of.password, 'hex')
  const [profile, limits] = of.hasWorkspace ? [BUILDER_PROFILE, BUILDER_LIMITS] : [PROFILE, READER_LIMITS]
  return [
    {
      why: 'the user whose rights the views read with; nobody can sign in as it',
      sql: `CREATE USER IF NOT EXISTS ${DEFINER} NOT IDENTIFIED HOST NONE`,
    },
    ...of.tables.map((table) => ({
      why: 'a table that the views read',
      sql: `GRANT SELECT ON ${database}.${quoteIdentifier(table)} TO ${DEFINER}`,
    })),
    ...of.views.map((view) => ({
      why: 'again after each npm run migrate that makes the views anew',
      sql: `ALTER TABLE ${role}.${quoteIdentifier(view)} MODIFY SQL SECURITY DEFINER DEFINER = ${DEFINER}`,
    })),
    { why: "the company's role", sql: `CREATE ROLE IF NOT EXISTS ${role}` },
    {
      why: 'it reads the views of the company and nothing else',
      sql: `GRANT SELECT ON ${role}.* TO ${role}`,
    },
    {
      why: 'limits',
      sql: `CREATE SETTINGS PROFILE IF NOT EXISTS ${profile} SETTINGS ${limits.join(', ')}`,
    },
    {
      why: 'the analyst; the password is stored as its SHA-256',
      sql: `CREATE USER ${user} IDENTIFIED WITH sha256_hash BY '${digest}' SETTINGS PROFILE '${profile}'`,
    },
    { why: 'the one role', sql: `GRANT ${role} TO ${user}` },
    { why: 'in force from the start', sql: `SET DEFAULT ROLE ${role} TO ${user}` },
    {
      why: 'what an analyst may use in an hour',
      sql: `CREATE QUOTA IF NOT EXISTS ${QUOTA} KEYED BY user_name FOR INTERVAL 1 hour MAX queries = 10000, read_rows = 100000000000, execution_time = 3600`,
    },
    { why: 'for this analyst, too', sql: `ALTER QUOTA ${QUOTA} TO ${user}` },
    {
      why: 'the second line: on the tables, everyone but Tally and its views sees no row',
      sql: `CREATE ROW POLICY IF NOT EXISTS tally_nobody ON ${database}.* AS RESTRICTIVE FOR SELECT USING 0 TO ALL EXCEPT ${service}, ${DEFINER}`,
    },
    {
      why: 'Tally and its views go on to see all rows',
      sql: `CREATE ROW POLICY IF NOT EXISTS tally_services ON ${database}.* AS PERMISSIVE FOR SELECT USING 1 TO ${service}, ${DEFINER}`,
    },
    { why: 'no files, addresses or other databases', sql: `REVOKE SOURCES ON *.* FROM ${user}, ${role}` },
    ...(of.hasWorkspace
      ? workspaceStatements(quoteIdentifier(workspaceOf(of.companyDatabase)), quoteIdentifier(of.user))
      : []),
  ]
}

/** The database for tables that analysts of a company make. */
export const workspaceOf = (companyDatabase: string): string => `${companyDatabase}_workspace`

const workspaceStatements = (workspace: string, user: string): ServerStatement[] => [
  {
    why: "the analysts' tables, such as models of dbt",
    sql: `CREATE DATABASE IF NOT EXISTS ${workspace}`,
  },
  {
    why: 'there the analyst makes tables and views',
    sql: `GRANT ${BUILDER_RIGHTS} ON ${workspace}.* TO ${user}`,
  },
  {
    why: 'only tables of this engine; some servers require this right',
    sql: `GRANT TABLE ENGINE ON MergeTree TO ${user}`,
  },
]
