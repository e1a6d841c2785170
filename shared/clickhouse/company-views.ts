import { setTimeout as sleep } from 'node:timers/promises'
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

/** How long it waits for another process that makes views. */
const WAIT_MS = 60_000
const TRY_EVERY_MS = 100

/**
 * Makes the database and the views of a company's analysts, or makes them again for another namespace. Waits while
 * another process makes views: each would drop views of the other, as if a crash had left them.
 *
 * @throws DomainError conflict when the other process takes too long
 */
export async function makeCompanyViews(parts: CompanyViewsParts, of: AnalystDatabase): Promise<void> {
  const until = performance.now() + WAIT_MS
  for (;;)
    try {
      await runExclusively(parts.pool, JOB, async () => {
        // The company may have been reset in the meantime.
        const current = await analystDatabaseRepository(parts.pool).find(of.companyId)
        await makeViews(parts, current ?? of)
      })
      return
    } catch (err) {
      if (!isElsewhere(err) || performance.now() > until) throw err
      await sleep(TRY_EVERY_MS)
    }
}

/** The views are recorded last, so that whatever a crash leaves undone is done again. */
async function makeViews(
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
 * Makes the views of a company again when it has another namespace, until it is closed: a reset gives a test company a
 * new one. Until the views follow, they show rows of the old namespace, which are being deleted, and nothing else.
 */
export function keepCompanyViews(parts: CompanyViewsParts, log: Logger): Closeable {
  const databases = analystDatabaseRepository(parts.pool)
  let hasFailed = false
  const round = async () => {
    if ((await databases.listOutdated()).length > 0)
      await runExclusively(parts.pool, JOB, async () => {
        // Asked again under the lock: another process may have made them in the meantime.
        for (const of of await databases.listOutdated()) await makeViews(parts, of)
      })
    hasFailed = false
  }
  return repeat(JOB, EVERY_MS, round, (err, signal) => {
    if (isElsewhere(err) || signal.aborted || hasFailed) return
    hasFailed = true // once, because each round may fail until the database is back
    log.warn({ err: loggableError(err) }, 'could not make the views of analysts, trying again')
  })
}
