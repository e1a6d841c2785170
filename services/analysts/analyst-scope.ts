import { analyticsDatabase, companyDatabase } from '../../shared/clickhouse/analytics-database.ts'
import { type ChdbSession, quoteIdentifier } from '../../shared/clickhouse/embedded/chdb-session.ts'
import { ANALYST_ROLE, companyRole } from '../../shared/clickhouse/embedded/engine-config.ts'
import type { QueryRunner } from './judge/judge-query.ts'

/** What an analyst may read: the views in one database, by a role that has nothing else. */
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

/** The statement that takes all rights from a connection. Analysts' connections run it unless a scope takes its place. */
export const NO_ROLE = 'SET ROLE NONE'

/**
 * A connection whose statements run in a scope.
 *
 * Why the role is set before each statement: the connections are shared by all analysts. And if the engine ever replaced
 * a broken connection, the new one would have all rights. Why before the database: the role of another analyst may not
 * enter it.
 */
export const inScope = ({ database, role }: AnalystScope, session: Pick<ChdbSession, 'run'>): QueryRunner => {
  const prelude = `SET ROLE ${quoteIdentifier(role)}; USE ${quoteIdentifier(database)}`
  return { run: (statement) => session.run({ ...statement, prelude }) }
}
