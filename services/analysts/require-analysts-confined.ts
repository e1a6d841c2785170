import type { ClickHouseSettings } from '@clickhouse/client'
import { analyticsDatabase } from '../../shared/clickhouse/analytics-database.ts'
import type { AnalystScope } from './analyst-scope.ts'
import { ClickHouseException, exceptionOfEngine } from './exception.ts'
import { judgeQuery, type JudgeRules, type QueryRunner } from './judge/judge-query.ts'
import { judgeResolved, SHOWN_WHOLE } from './judge/judge-resolved.ts'

const ACCESS_DENIED = 497

/** Queries that once got around the rules, one for each way. */
const REFUSED_BY_JUDGMENT = [
  "SELECT file('/dev/null')",
  "SELECT arrayMap(file, ['/dev/null'])",
  'SELECT * APPLY(file) FROM events',
  'SELECT * FROM system.processes',
  'SELECT (SELECT any(data_path) FROM system.databases)',
  'SELECT * FROM numbers(1)',
  'SELECT 1 IN system.processes',
  'SELECT (SELECT 1 SETTINGS max_threads = 1)',
]
const REFUSED_AS_RESOLVED = [
  "SELECT arrayMap(file, ['/dev/null'])",
  "SELECT arrayMap(x -> (SELECT arrayMap(file, ['/dev/null'])), [1])",
  "SELECT * APPLY(file) FROM values('x String', ('/dev/null'))",
  'SELECT * FROM numbers(1)',
  'SELECT * FROM system.numbers LIMIT 1',
  'SELECT data_path FROM system.databases',
]

/**
 * Checks before the first query of a scope that each line of defence still works with this engine. A new version of the
 * engine may print its trees in another form, or allow a new way around the rules.
 *
 * @param session is in the scope
 * @param database the services' own
 * @throws Error when a line of defence does not work
 */
export async function requireAnalystsConfined(
  session: QueryRunner,
  database: string,
  scope: AnalystScope,
  settings: ClickHouseSettings,
  scopeRules: Omit<JudgeRules, 'user'>,
): Promise<void> {
  const rules = { ...scopeRules, user: 'nobody' }
  const run = (text: string) => session.run({ text, settings, format: 'TabSeparated' })
  const roles = (await run('SELECT currentRoles()')).text().trim()
  if (roles !== `['${scope.role}']`) throw new Error(`analysts would have the roles ${roles}`)
  const ofAll = analyticsDatabase(database)
  const outside = [`${database}.usage_events`, "file('/dev/null', 'LineAsString')"]
  for (const table of scope.database === ofAll ? outside : [...outside, `${ofAll}.events`])
    await requireDenied(`reading ${table}`, () => run(`SELECT count() FROM ${table}`))
  for (const query of REFUSED_BY_JUDGMENT)
    await requireDenied(`judging ${query}`, () => judgeQuery(session, query, {}, settings, rules))
  for (const query of REFUSED_AS_RESOLVED) {
    const tree = await session.run({
      text: `EXPLAIN QUERY TREE passes = 1 ${query}`,
      settings: { ...settings, ...SHOWN_WHOLE },
      format: 'TabSeparatedRaw',
    })
    await requireDenied(`looking into ${query}`, () => {
      judgeResolved(tree.text().split('\n'), rules)
    })
  }
  await judgeQuery(session, 'SELECT count() FROM events', {}, settings, rules)
}

async function requireDenied(what: string, attempt: () => unknown): Promise<void> {
  try {
    await attempt()
  } catch (err) {
    const exception = err instanceof ClickHouseException ? err : exceptionOfEngine(err)
    if (exception?.code === ACCESS_DENIED) return
    throw new Error(`analysts are not confined as they must be: ${what} failed in another way`, {
      cause: err,
    })
  }
  throw new Error(`analysts are not confined as they must be: ${what} was not refused`)
}
