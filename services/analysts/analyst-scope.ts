import { analyticsDatabase, companyDatabase } from '../../shared/clickhouse/analytics-database.ts'
import type { ChdbSession } from '../../shared/clickhouse/embedded/chdb-session.ts'
import { ANALYST_ROLE, companyRole } from '../../shared/clickhouse/embedded/engine-config.ts'
import { quoteIdentifier } from '../../shared/clickhouse/quote-identifier.ts'
import type { QueryRunner } from './judge/judge-query.ts'

/** What an analyst may read: the views in one database, with a role that may read nothing else. */
export interface AnalystScope {
  database: string
  role: string
}

/** The views of all companies. */
export const scopeOfAll = (database: string): AnalystScope => ({
  database: analyticsDatabase(database),
  role: ANALYST_ROLE,
})

/** The views of one company, by the number of its database. */
export const scopeOfCompany = (database: string, number: number): AnalystScope => ({
  database: companyDatabase(database, number),
  role: companyRole(database, number),
})

/** Takes all rights from a connection. Analysts' connections run it before each statement that has no scope. */
export const NO_ROLE = 'SET ROLE NONE'

/**
 * A connection whose statements run in a scope.
 *
 * Why the role is set before each statement: all analysts share the connections. Also, if the engine replaced a broken
 * connection, the new one would have all rights. Why the role is set before the database: the connection may still have
 * the role of another analyst, which may not use this database.
 */
export const inScope = ({ database, role }: AnalystScope, session: Pick<ChdbSession, 'run'>): QueryRunner => {
  const prelude = `SET ROLE ${quoteIdentifier(role)}; USE ${quoteIdentifier(database)}`
  return { run: (statement) => session.run({ ...statement, prelude }) }
}
