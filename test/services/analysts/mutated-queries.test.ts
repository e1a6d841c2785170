import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { limitSettings } from '../../../services/analysts/analyst-limits.ts'
import { SETTINGS_OF_ANALYSTS } from '../../../services/analysts/analyst-settings.ts'
import { ClickHouseException, exceptionOfEngine } from '../../../services/analysts/exception.ts'
import {
  FunctionNames,
  type FunctionRow,
  LIST_FUNCTIONS,
} from '../../../services/analysts/judge/function-names.ts'
import {
  judgeQuery,
  type JudgeRules,
  judgeWritten,
  type QueryRunner,
} from '../../../services/analysts/judge/judge-query.ts'
import { judgeResolved, SHOWN_WHOLE } from '../../../services/analysts/judge/judge-resolved.ts'
import { SharedTimeZones } from '../../../services/analysts/judge/time-zones.ts'
import { schemaStatements } from '../../../services/analysts/schema-statements.ts'
import { attacks } from '../../../services/operator/doctor/attacks.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { ChdbSession } from '../../../shared/clickhouse/embedded/chdb-session.ts'
import { analystViewNames } from '../../../shared/clickhouse/views-contract.ts'
import { type AnalystEndpoint, LIMITS, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { failureOf } from '../../support/failure-of.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { mutatedQueries } from './mutate-query.ts'

const CANARY = 'canary-51d0be'

/** The number of runs; `FUZZ_RUNS=20000` sets more. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 150)

/** A query that takes longer than the limits allow is reported, because it has evaded them. */
const TOLD_MS = 10_000

const HARMLESS = [
  'SELECT 1',
  'SELECT * FROM events',
  'SELECT account_id, sum(quantity) FROM events GROUP BY account_id',
  "SELECT JSONExtractString(properties, 'a') AS a, count() FROM events WHERE a != '' GROUP BY a ORDER BY a LIMIT 5",
  'SELECT toStartOfHour(occurred_at) AS t, sum(quantity) FROM events GROUP BY t',
  'WITH x AS (SELECT * FROM daily_usage) SELECT * FROM x WHERE quantity IN (SELECT max(quantity) FROM x)',
  "SELECT arrayMap(x -> lower(x), ['A', 'B']), arrayFilter(x -> x > 1, [1, 2])",
  'SELECT e.*, d.quantity FROM events AS e LEFT JOIN daily_usage AS d USING (account_id)',
  'SELECT * EXCEPT (properties) REPLACE (quantity * 2 AS quantity) FROM events',
  "SELECT CAST('1' AS Int8), '2'::Decimal(10, 2), toDateTime('2026-01-01 00:00:00', 'UTC')",
  'SELECT sum(quantity) OVER (PARTITION BY account_id ORDER BY occurred_at) FROM events',
  'SELECT t.name, d.engine FROM system.tables AS t JOIN system.databases AS d ON t.database = d.name',
  "SELECT name, value FROM system.settings WHERE name LIKE 'max%'",
  'EXPLAIN indexes = 1 SELECT count() FROM events',
  'DESCRIBE (SELECT quantity FROM events)',
  "SHOW TABLES LIKE '%'",
  "SELECT count() FROM events SETTINGS max_threads = 1, session_timezone = 'UTC' FORMAT CSV",
]
/**
 * The number of copies of each harmless query in the corpus, so that about half of all queries begin as harmless ones.
 */
const HARMLESS_TIMES = 15

/** Each line of defence must work alone, so that a failure of one does not matter. */
describe('mutated queries at the ClickHouse endpoint', function () {
  this.timeout(240_000 + RUNS * 100)
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  let corpus: string[]
  let rules: JudgeRules
  /** A session on the analysts' database with all rights. */
  let almighty: ChdbSession

  before(async () => {
    clickhouse = await createClickHouse('mutated queries')
    endpoint = await startAnalysts(clickhouse)
    const folder = await makeTempFolder('canary')
    const file = path.join(folder, 'secret.txt')
    const { database, engine } = clickhouse
    const analytics = endpoint.database
    await writeFile(file, `${CANARY}\n`)
    await clickhouse.client.command({
      query: `INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, voided, version)
        VALUES ('${CANARY}', '${CANARY}', 'usd', 0, 'event_${'0'.repeat(32)}', 1, '${CANARY}', 0, 1, 1)`,
    })
    const written = path.join(folder, 'written.csv')
    corpus = [
      ...Array<string[]>(HARMLESS_TIMES).fill(HARMLESS).flat(),
      ...Object.values(attacks({ file, written, database, analytics })).flat(),
    ]
    if (engine === undefined) throw new Error('not embedded')
    // Some queries connect to addresses that do not answer. With ten attempts and pauses, one took two minutes.
    const setup = `USE ${analytics}; SET max_query_size = 8000000, http_max_tries = 1`
    almighty = await ChdbSession.open({ ...engine, setup })
    const functions = await almighty.run({ text: LIST_FUNCTIONS, settings: {}, format: 'JSONEachRow' })
    rules = {
      functions: new FunctionNames(
        functions
          .text()
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as FunctionRow),
      ),
      zones: new SharedTimeZones().of(''),
      tables: new Set(analystViewNames().flatMap((view) => [view, `${analytics}.${view}`])),
      statements: schemaStatements(analytics),
      settings: SETTINGS_OF_ANALYSTS,
      user: 'somebody',
    }
  })
  after(async () => {
    almighty.close()
    await endpoint.close()
    await clickhouse.close()
  })

  /** Runs the work. Our refusals and the engine's errors are expected; any other error is not. */
  const attempt = async (work: () => Promise<string>): Promise<string | undefined> => {
    try {
      return await work()
    } catch (err) {
      if (err instanceof ClickHouseException || exceptionOfEngine(err) !== undefined) return undefined
      throw err
    }
  }
  const settings = limitSettings({ ...LIMITS, timeoutS: 2 })
  const run = async (text: string) => (await almighty.run({ text, settings, format: 'TabSeparated' })).text()

  /** Tries many queries, and checks that enough of them succeed, because otherwise the property means nothing. */
  const check = async (property: (query: string) => Promise<string | undefined>) => {
    let answered = 0
    await fc.assert(
      fc.asyncProperty(mutatedQueries(corpus), async (query) => {
        const startedAt = performance.now()
        const text = await property(query)
        const ms = performance.now() - startedAt
        if (ms > TOLD_MS) process.stdout.write(`    (${Math.round(ms)} ms: ${JSON.stringify(query)})\n`)
        if (text !== undefined) answered++
        expect(text ?? '').to.not.contain(CANARY)
      }),
      { numRuns: RUNS },
    )
    expect(answered).to.be.greaterThan(RUNS / 100)
  }

  it('never give the canary away', () =>
    check(async (query) => {
      const { status, code, text } = await endpoint.ask(query)
      expect(code, `${query}: ${text}`).to.not.equal(1002) // an internal error
      expect(text).to.not.contain(CANARY)
      return status === 200 ? text : undefined
    }))

  it('do not pass as they are written, even where every right is held', () =>
    check((query) =>
      attempt(async () => run((await judgeWritten(almighty, query, { x: 'x' }, settings, rules)).text)),
    ))

  it('do not pass as they are resolved, even where every right is held', () =>
    check((query) =>
      attempt(async () => {
        const text = await run(
          `SELECT formatQuerySingleLine('${query.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}') FORMAT TSVRaw`,
        )
        const select = text.trim().replace(/ (?:INTO OUTFILE|FORMAT|SETTINGS) .*$/s, '')
        if (!/^(?:SELECT|WITH)/.test(select)) return 'not a SELECT'
        const tree = await almighty.run({
          text: `EXPLAIN QUERY TREE passes = 1 ${select}`,
          settings: { ...settings, ...SHOWN_WHOLE },
          format: 'TabSeparatedRaw',
        })
        judgeResolved(tree.text().split('\n'), rules)
        return run(select)
      }),
    ))

  it('are planned for EXPLAIN only after they are judged as resolved', async () => {
    const explained = async (resolved: string | undefined) => {
      const ran: string[] = []
      const session: QueryRunner = {
        run(statement) {
          ran.push(statement.text)
          const isTree = resolved !== undefined && statement.text.startsWith('EXPLAIN QUERY TREE')
          return almighty.run(isTree ? { ...statement, text: `SELECT '${resolved}'` } : statement)
        },
      }
      const failure = await failureOf(judgeQuery(session, 'EXPLAIN PLAN SELECT 1', {}, settings, rules))
      return { failure, isPlanned: ran.some((text) => /^EXPLAIN\s+(?:PLAN\s+)?SELECT/.test(text)) }
    }
    expect(await explained(undefined)).to.deep.equal({ failure: undefined, isPlanned: true })
    const refused = await explained('TABLE id: 1, table_name: tally.usage_events')
    expect(String(refused.failure)).to.contain('the table tally.usage_events')
    expect(refused.isPlanned).to.equal(false)
  })

  it("find no row of another table with the analysts' role, even where nothing is judged", () =>
    check(async (query) => {
      const text = await attempt(async () => {
        const roled = `SET ROLE tally_analyst; ${query.replace(/INTO OUTFILE/gi, '')}`
        try {
          return (await almighty.run({ text: roled, settings, format: 'TabSeparated' })).text()
        } finally {
          await run('SET ROLE DEFAULT')
        }
      })
      // A role does not restrict scalar functions, or tables of the engine that show queries and errors of other users.
      // The other lines of defence restrict these.
      return /file|ROLE|errors|processes|_log|warnings|stack_trace/.test(query) ? undefined : text
    }))
})
