import type { Closeable } from '../lifecycle/close-all.ts'
import { repeat } from '../lifecycle/repeat.ts'
import { loggableError } from '../logging/loggable-error.ts'
import type { Logger } from '../logging/logger.ts'
import { type AnalystDatabase, analystDatabaseRepository } from '../postgres/analysts.ts'
import type { Pool } from '../postgres/core/pool.ts'
import { isElsewhere, runExclusively } from '../postgres/locks/run-exclusively.ts'
import { makeAnalystViews } from './analyst-views.ts'
import { companyDatabase } from './analytics-database.ts'
import type { ClickHouse } from './clickhouse.ts'

export interface CompanyViewsParts {
  pool: Pool
  clickhouse: ClickHouse
  /** The services' database. */
  database: string
}

const JOB = "the making of companies' views"
/** How soon the views of a test company follow its reset. */
const EVERY_MS = 1_000

/**
 * Makes the database and the views of a company's analysts, or makes them again for another namespace. They are recorded
 * last, so that whatever a crash leaves undone is done again.
 */
export async function makeCompanyViews(
  { pool, clickhouse, database }: CompanyViewsParts,
  of: AnalystDatabase,
): Promise<void> {
  const into = companyDatabase(database, of.number)
  await makeAnalystViews(clickhouse, { database, into, namespaceId: of.namespaceId })
  await analystDatabaseRepository(pool).noteShown(of)
}

/** Makes the views of all companies with analysts that are missing or not of this version. */
export async function makeAllCompanyViews(parts: CompanyViewsParts): Promise<void> {
  for (const of of await analystDatabaseRepository(parts.pool).list()) await makeCompanyViews(parts, of)
}

/**
 * Has the views of each company show its current namespace, until it is closed: a reset gives a test company another
 * one. Until the views follow, they show rows of the old namespace, which are being deleted, and nothing else.
 */
export function keepCompanyViews(parts: CompanyViewsParts, log: Logger): Closeable {
  const databases = analystDatabaseRepository(parts.pool)
  let hasFailed = false
  const round = async () => {
    if ((await databases.listOutdated()).length > 0)
      await runExclusively(parts.pool, JOB, async () => {
        // Asked again under the lock: another process may have made them in the meantime.
        for (const of of await databases.listOutdated()) await makeCompanyViews(parts, of)
      })
    hasFailed = false
  }
  return repeat(JOB, EVERY_MS, round, (err, signal) => {
    if (isElsewhere(err) || signal.aborted || hasFailed) return
    hasFailed = true // once, because each round may fail until the database is back
    log.warn({ err: loggableError(err) }, 'could not make the views of analysts, trying again')
  })
}
