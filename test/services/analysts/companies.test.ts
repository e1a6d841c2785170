import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { limitSettings } from '../../../services/analysts/analyst-limits.ts'
import { inScope, scopeOfCompany } from '../../../services/analysts/analyst-scope.ts'
import { fixedUsers } from '../../../services/analysts/endpoint-user.ts'
import { exceptionOfEngine } from '../../../services/analysts/exception.ts'
import { attacks, attacksByUrl, type Targets } from '../../../services/operator/doctor/attacks.ts'
import { makeAnalystViews } from '../../../shared/clickhouse/analyst-views.ts'
import { companyDatabase } from '../../../shared/clickhouse/analytics-database.ts'
import type { ClickHouse, OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../../shared/clickhouse/dimensions.ts'
import { ChdbSession } from '../../../shared/clickhouse/embedded/chdb-session.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { readViewsContract } from '../../../shared/clickhouse/views-contract.ts'
import {
  DIMENSION_TABLES,
  type DimensionKind,
  type DimensionTable,
} from '../../../shared/domain/dimension-table.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { type AnalystEndpoint, type Answer, askAt, LIMITS, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'
import { mutatedQueries } from './mutate-query.ts'

/** `FUZZ_RUNS=20000` looks longer. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 500)

/** What is in the columns of a company, in no other company's, and in no query. */
interface Canary {
  namespaceId: string
  accountId: string
  metricId: string
  currency: string
  quantity: string
  owner: string
  properties: string
  occurredAt: number
  occurredText: string
}

const ACME: Canary = {
  namespaceId: '018cc251-f400-7000-8000-00000000ac3e',
  accountId: `account_${'ac3e'.repeat(8)}`,
  metricId: `metric_${'ac3e'.repeat(8)}`,
  currency: 'acm',
  quantity: '4711.000000000000000042',
  owner: 'canary of acme',
  properties: '{"owner":"canary of acme"}',
  occurredAt: 1_767_323_045,
  occurredText: '2026-01-02 03:04:05',
}
const GLOBEX: Canary = {
  namespaceId: '018cc251-f400-7000-8000-0000000910be',
  accountId: `account_${'910be5'.repeat(5)}91`,
  metricId: `metric_${'910be5'.repeat(5)}91`,
  currency: 'glx',
  quantity: '90817263.000000000000000099',
  owner: 'canary of globex',
  properties: '{"owner":"canary of globex"}',
  occurredAt: 1_770_098_889,
  occurredText: '2026-02-03 06:08:09',
}

/** Refused by us or by the engine; never an answer, and never a failure of our own. */
const REFUSALS = [36, 46, 48, 50, 60, 62, 73, 81, 168, 456, 457, 497]
/** Runs until its time is over. */
const ENDLESS =
  'SELECT count() FROM (SELECT arrayJoin(range(300000)) AS x) AS a, (SELECT arrayJoin(range(300000)) AS y) AS b WHERE cityHash64(x, y) = 1'
const PASSWORDS = { ada: 'the password of ada', eve: 'the password of eve' }

type Name = keyof typeof PASSWORDS

const HARMLESS = [
  'SELECT * FROM events',
  'SELECT * FROM event_changes',
  'SELECT account_id, sum(quantity) FROM daily_usage GROUP BY account_id',
  'SELECT * FROM daily_totals',
  'SELECT * FROM accounts',
  'SELECT * FROM grants AS g LEFT JOIN balances AS b USING (account_id)',
  'SELECT * FROM contracts AS c LEFT JOIN contract_lines AS l USING (contract_id)',
  'SELECT * FROM event_revisions',
  "SELECT * FROM events WHERE account_id != ''",
  'WITH x AS (SELECT * FROM daily_usage) SELECT * FROM x',
  'SELECT e.*, d.quantity FROM events AS e LEFT JOIN daily_usage AS d USING (account_id)',
  'SELECT name, engine, comment FROM system.databases',
  'SELECT * FROM system.tables',
  'SELECT database, table, name, type, comment FROM system.columns',
  'SELECT * FROM information_schema.tables',
  'SELECT * FROM system.parts',
  'EXPLAIN SELECT * FROM events',
  'SHOW DATABASES',
  'SHOW TABLES',
  'SHOW CREATE TABLE events',
  'SELECT currentUser(), user(), currentDatabase()',
]
const HARMLESS_TIMES = 15

describe('analysts of companies', function () {
  this.timeout(240_000 + RUNS * 100)
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  let targets: Targets
  let globex: string
  /** Whatever must not be shown to ada. */
  let canaries: string[]

  const askAs = (name: Name, query: string, url: Record<string, string> = {}): Promise<Answer> =>
    askAt(endpoint.url, query, url, {
      authorization: `Basic ${Buffer.from(`${name}:${PASSWORDS[name]}`).toString('base64')}`,
    })
  const read = async (name: Name, query: string) => {
    const { status, text } = await askAs(name, query)
    expect(status, text).to.equal(200)
    return text
  }
  const requireNothingOfGlobex = (what: string, text: string) => {
    for (const canary of canaries) if (text.includes(canary)) expect.fail(`${what} shows ${canary}: ${text}`)
  }

  before(async () => {
    clickhouse = await createClickHouse('companies')
    const { client, database } = clickhouse
    const places = [ACME, GLOBEX].map((company, i) => ({ company, into: companyDatabase(database, i + 1) }))
    const written: UsageEvent[] = places.flatMap(({ company }) => eventsOf(company))
    await usageEventRepository(client).insertLines(Buffer.from(written.map(usageEventToLine).join('\n')))
    for (const table of DIMENSION_TABLES)
      await dimensionRepository(client).insertLines(
        table,
        places.map(({ company }) => rowOf(company, table)),
      )
    const values = await ratedRows(
      client,
      places.map(({ company }) => company),
    )
    await client.insert({ table: 'rated_periods', values, format: 'JSONEachRow' })
    for (const { company, into } of places)
      await makeAnalystViews(client, { database, into, namespaceId: company.namespaceId })
    endpoint = await startAnalysts(clickhouse, {
      connections: 3,
      waitingMaxOfOne: 20,
      others: (analysts) =>
        fixedUsers(
          (['ada', 'eve'] as const).map((name, i) => ({
            ...analysts.userOf({ name, company: name, scope: scopeOfCompany(database, i + 1) }),
            password: PASSWORDS[name],
          })),
        ),
    })
    const folder = await makeTempFolder('canary')
    const file = path.join(folder, 'secret.txt')
    globex = companyDatabase(database, 2)
    await writeFile(file, 'canary of globex')
    targets = { file, written: path.join(folder, 'written.csv'), database, analytics: globex }
    const ids = written.filter(({ namespaceId }) => namespaceId === GLOBEX.namespaceId).map(({ id }) => id)
    canaries = [
      ...ids.map((id) => id.replace('event_', '')),
      ...[GLOBEX.namespaceId, GLOBEX.accountId, GLOBEX.metricId, GLOBEX.currency],
      ...[GLOBEX.quantity, 'canary of globex', GLOBEX.occurredText],
    ]
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  it('see all of their company in every view, and nothing else', async () => {
    for (const { name } of readViewsContract().views) {
      const [ofAda, ofEve] = [
        await read('ada', `SELECT * FROM ${name}`),
        await read('eve', `SELECT * FROM ${name}`),
      ]
      if (name === 'freshness') expect(ofAda).to.equal(ofEve)
      else {
        expect(shows(ofAda, ACME), `${name}: ${ofAda}`).to.equal(true)
        expect(shows(ofEve, GLOBEX), `${name}: ${ofEve}`).to.equal(true)
      }
      requireNothingOfGlobex(name, ofAda)
    }
    expect(await read('ada', 'SELECT count() FROM event_changes')).to.equal('4\n')
    expect((await endpoint.ask('SELECT uniqExact(namespace_id) FROM events')).text).to.equal('2\n')
  })

  it('see nothing else in any format of bytes, whatever is set', async () => {
    for (const view of ['events', 'event_changes', 'daily_usage', 'accounts'])
      for (const format of ['Arrow', 'ArrowStream', 'Parquet', 'ORC', 'Native', 'RowBinary']) {
        const url = {
          output_format_arrow_low_cardinality_as_dictionary: '1',
          output_format_arrow_compression_method: 'none',
        }
        const { status, text } = await askAs('ada', `SELECT * FROM ${view} LIMIT 1 FORMAT ${format}`, url)
        expect(status, `${view} ${format}`).to.equal(200)
        requireNothingOfGlobex(`${view} as ${format}`, text)
      }
  })

  it('are not told how much was read from the tables of all companies', async () => {
    const query = 'SELECT count() FROM events'
    for (const format of ['JSON', 'JSONCompact', 'JSONStrings', 'JSONColumnsWithMetadata', 'XML'])
      for (const url of [{}, { output_format_write_statistics: '1' }]) {
        const { status, text, headers } = await askAs('ada', `${query} FORMAT ${format}`, url)
        expect(status, text).to.equal(200)
        expect(text, format).to.not.match(/statistics|rows_read|bytes_read/)
        expect(JSON.parse(headers.get('x-clickhouse-summary') ?? '')).to.include({
          read_rows: '0',
          read_bytes: '0',
          result_rows: '0',
          result_bytes: '0',
        })
      }
    const asked = await askAs('ada', `${query} FORMAT JSON SETTINGS output_format_write_statistics = 1`)
    expect(asked.text).to.not.match(/statistics/)
    // Whether a query ends by a limit of its own would tell the same, one question after the other.
    for (const limited of [
      await askAs('ada', query, { max_rows_to_read: '1' }),
      await askAs('ada', `${query} SETTINGS max_rows_to_read = 1`),
    ])
      expect([limited.status, limited.text]).to.deep.equal([200, '2\n'])
    for (const kind of [
      '',
      'PLAN',
      'PIPELINE',
      'indexes = 1',
      'indexes = 1, projections = 1',
      'actions = 1',
    ]) {
      const { status, text } = await askAs(
        'ada',
        `EXPLAIN ${kind} SELECT * FROM events WHERE account_id = 'x'`,
      )
      expect(status, text).to.equal(200)
      expect(text).to.match(/ReadFromMergeTree/)
      expect(text).to.not.match(/Parts|Granules|Ranges|Marks|Rows|[0-9] → [0-9]| × [0-9]/)
    }
    for (const explained of ['ESTIMATE', 'ANALYZE'])
      expect((await askAs('ada', `EXPLAIN ${explained} SELECT * FROM events`)).status).to.not.equal(200)
    expect(await read('ada', 'SELECT count() FROM system.parts')).to.equal('0\n')
    expect(await read('ada', 'SELECT any(total_rows), any(total_bytes) FROM system.tables')).to.equal(
      '\\N\t\\N\n',
    )
  })

  it('have no expression computed for rows of another company, whatever they set', async () => {
    const has = `account_id = '${GLOBEX.accountId}'`
    const failing = [
      `throwIf(${has}) = 0`,
      `intDiv(1, toUInt8(NOT (${has}))) = 1`,
      `toUInt64(if(${has}, 'found', '1')) = 1`,
    ]
    for (const view of ['events', 'event_changes', 'daily_usage', 'accounts', 'balances'])
      for (const expression of failing)
        for (const query of [
          `SELECT count() FROM ${view} WHERE ${expression}`,
          `SELECT countIf(${expression}) FROM ${view}`,
        ]) {
          const { status, text } = await askAs('ada', query)
          expect(status, `${query}: ${text}`).to.equal(200)
        }
    expect(limitSettings(LIMITS)).to.include({ short_circuit_function_evaluation: 'enable' })
    for (const value of ['disable', 'force_enable'])
      for (const { code } of [
        await askAs('ada', 'SELECT 1', { short_circuit_function_evaluation: value }),
        await askAs('ada', `SELECT 1 SETTINGS short_circuit_function_evaluation = '${value}'`),
      ])
        expect(code).to.equal(497)
  })

  it('find no database but theirs', async () => {
    const own = companyDatabase(clickhouse.database, 1)
    const databases = await read('ada', 'SHOW DATABASES')
    expect(databases.split('\n').filter((name) => name.startsWith('test_'))).to.deep.equal([own])
    for (const query of [
      'SELECT DISTINCT database FROM system.tables',
      'SELECT DISTINCT database FROM system.columns',
      'SELECT name FROM system.databases',
      'SELECT DISTINCT table_schema FROM information_schema.tables',
      'SELECT schema_name FROM information_schema.schemata',
    ])
      expect((await read('ada', query)).match(/^test_.*$/gm), query).to.deep.equal([own])
    expect(await read('ada', 'SELECT currentDatabase()')).to.equal(`${own}\n`)
    expect(await read('ada', `SELECT count() FROM ${own}.events`)).to.equal('2\n')
    expect((await askAs('ada', 'SELECT 1', { database: globex })).code).to.equal(81)
    expect((await askAs('ada', 'SELECT count() FROM events', { database: 'default' })).text).to.equal('2\n')
  })

  it('are refused whatever an attack asks for, of globex as of the services', async () => {
    const tried = Object.values(attacks(targets)).flat()
    const services = new RegExp(`\\b${targets.database}\\b`, 'g')
    const ofGlobex = tried
      .filter((query) => query.search(services) >= 0)
      .map((query) => query.replaceAll(services, globex).replaceAll('usage_events', 'events'))
    expect(ofGlobex).to.have.length.above(50)
    for (const query of [...tried, ...ofGlobex]) {
      const { code, text } = await askAs('ada', query)
      requireNothingOfGlobex(query, text)
      expect(code, `${query}: ${text}`).to.be.oneOf(REFUSALS)
    }
    for (const [query, url] of attacksByUrl({ ...targets, database: globex })) {
      const { code, text } = await askAs('ada', query, url)
      requireNothingOfGlobex(query, text)
      expect(code, `${query} with ${JSON.stringify(url)}: ${text}`).to.be.oneOf(REFUSALS)
    }
  })

  it('never see a byte of globex in generated queries', async () => {
    const corpus = [
      ...Array<string[]>(HARMLESS_TIMES).fill(HARMLESS).flat(),
      ...Object.values(attacks(targets)).flat(),
      `SELECT * FROM ${globex}.events`,
      `SHOW TABLES FROM ${globex}`,
    ]
    let answered = 0
    await fc.assert(
      fc.asyncProperty(mutatedQueries(corpus), async (query) => {
        const { status, code, text } = await askAs('ada', query)
        expect(code, `${query}: ${text}`).to.not.equal(1002) // an error of our own
        requireNothingOfGlobex(query, text)
        // The text of a query may come back in an error, so its own names tell nothing.
        if (!query.includes(globex)) expect(text).to.not.include(globex)
        if (status === 200) answered++
      }),
      { numRuns: RUNS },
    )
    expect(answered).to.be.greaterThan(RUNS / 50)
  })

  it('are confined by the engine alone, where nothing is judged', async () => {
    const { engine, database } = clickhouse
    if (engine === undefined) throw new Error('not embedded')
    const connection = await ChdbSession.open({ ...engine, setup: 'SET readonly = 2' })
    const run = async (text: string) =>
      (
        await inScope(scopeOfCompany(database, 1), connection).run({ text, settings: {}, format: 'TSV' })
      ).text()
    try {
      expect(await run('SELECT count() FROM events')).to.equal('2\n')
      for (const query of [
        `SELECT * FROM ${globex}.events`,
        `SELECT * FROM ${globex}.daily_usage`,
        `SELECT * FROM ${database}_analytics.events`,
        `SELECT * FROM ${database}.usage_events`,
        `SELECT * FROM merge('${globex}', '.*')`,
        `SHOW CREATE TABLE ${globex}.events`,
        `USE ${globex}; SELECT * FROM events`,
        `INSERT INTO ${globex}.events SELECT * FROM events`,
        `DROP VIEW ${globex}.events`,
        `ALTER TABLE ${globex}.events MODIFY QUERY SELECT 1`,
      ]) {
        const denied = await run(query).then(
          (text) => text,
          (err: unknown) => exceptionOfEngine(err)?.code,
        )
        expect(denied, query).to.be.oneOf([497, 164, 636])
      }
      const shown = await run('SELECT name FROM system.databases')
      expect(shown).to.not.include(globex)
      expect(await run(`SELECT count() FROM system.tables WHERE database = '${globex}'`)).to.equal('0\n')
    } finally {
      connection.close()
    }
  })

  it('are told their own name, not that of the user they share', async () => {
    expect(await read('ada', 'SELECT currentUser(), user() FORMAT TSVWithNames')).to.equal(
      'currentUser()\tuser()\nada\tada\n',
    )
    expect(await read('eve', "SELECT concat(currentUser(), '!') AS x, upper(user()), USER() AS y")).to.equal(
      'eve!\tEVE\teve\n',
    )
    expect(await read('ada', "SELECT 'currentUser()', `user()` FROM (SELECT 1 AS `user()`)")).to.equal(
      'currentUser()\t1\n',
    )
    expect((await endpoint.ask('SELECT currentUser()')).text).to.equal('analyst\n')
    // A column may have this name.
    expect(await read('ada', 'SELECT user FROM (SELECT 1 AS user)')).to.equal('1\n')
    for (const query of [
      'SELECT `currentUser`()',
      'SELECT current_user()',
      'SELECT CURRENT_USER()',
      'SELECT session_user()',
      'SELECT count() FROM events WHERE currentUser() = user() GROUP BY currentUser()',
      'SELECT DISTINCT * FROM (SELECT currentUser() UNION ALL SELECT user())',
    ])
      expect((await askAs('ada', query)).text, query).to.not.match(/default\n/)
  })

  it('end their own queries by id, and no query of another', async () => {
    const id = `shared.${randomUUID()}`
    const ofEve = askAs('eve', ENDLESS, { query_id: id, max_execution_time: '3' })
    await sleep(500)
    expect((await askAs('ada', `KILL QUERY WHERE query_id = '${id}'`)).text).to.equal('')
    const ofAda = askAs('ada', ENDLESS, { query_id: id, max_execution_time: '9' })
    await sleep(500)
    expect((await askAs('ada', `KILL QUERY WHERE query_id = '${id}'`)).text).to.equal(`waiting\t${id}\n`)
    expect((await ofAda).code).to.equal(394)
    expect((await ofEve).code).to.equal(159)
  })

  it('take turns: many heavy queries of one delay those of another by less than a second', async () => {
    const heavy = Array.from({ length: 10 }, () => askAs('ada', ENDLESS, { max_execution_time: '2' }))
    await sleep(300)
    const times: number[] = []
    for (let i = 0; i < 8; i++) {
      const startedAt = performance.now()
      expect(await read('eve', 'SELECT 1')).to.equal('1\n')
      times.push(performance.now() - startedAt)
      await sleep(150)
    }
    expect(Math.max(...times)).to.be.lessThan(1_000)
    // A long query of another has its turn before those of ada that came earlier.
    const startedAt = performance.now()
    const long = await askAs('eve', ENDLESS, { max_execution_time: '1' })
    expect(long.code).to.equal(159)
    expect(performance.now() - startedAt).to.be.lessThan(4_000)
    expect((await askAs('eve', 'SELECT 1')).text).to.equal('1\n')
    await Promise.all(heavy)
  })

  it('may have as many queries waiting as one may, whoever else waits', async () => {
    const asked = Array.from({ length: 60 }, () => askAs('ada', ENDLESS, { max_execution_time: '1' }))
    await sleep(100)
    expect((await askAs('eve', 'SELECT 1')).text).to.equal('1\n')
    const codes = (await Promise.all(asked)).map(({ code }) => code)
    expect(codes.filter((code) => code === 202).length).to.be.within(16, 58)
    expect(codes.filter((code) => code === 159).length).to.be.within(2, 44)
  })
})

/** Whether an answer shows a company: its quantity, or its text. */
const shows = (text: string, { quantity, owner }: Canary): boolean =>
  text.includes(quantity) || text.includes(owner)

/** A row of a company, of which each column says whose it is. */
function rowOf(company: Canary, { key, columns }: DimensionTable): string {
  const byKind: Record<DimensionKind, unknown> = {
    text: company.owner,
    uuid: company.namespaceId,
    decimal: company.quantity,
    time: company.occurredAt * 1_000_000,
    integer: company.occurredAt,
    flag: 0,
  }
  const byName: Record<string, string> = { account_id: company.accountId, metric_id: company.metricId }
  const fields = [...key, ...columns].map(({ name, kind }) => [name, byName[name] ?? byKind[kind]] as const)
  return JSON.stringify({
    namespace_id: company.namespaceId,
    ...Object.fromEntries(fields),
    version: 1,
    is_deleted: 0,
  })
}

/** A rated period of each company, of which each column says whose it is. */
async function ratedRows(client: ClickHouse, companies: readonly Canary[]) {
  const answer = await client.query({
    query:
      "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = 'rated_periods'",
    format: 'JSONEachRow',
  })
  const columns = await answer.json<{ name: string; type: string }>()
  return companies.map((company) => {
    const byName: Record<string, unknown> = {
      ...{
        namespace_id: company.namespaceId,
        account_id: company.accountId,
        line_metric_id: [company.metricId],
      },
      ...{ version: 1, is_deleted: 0, rated_at: company.occurredAt * 1_000_000 },
    }
    const valueOf = (type: string): unknown => {
      if (type.startsWith('Array(')) return [valueOf(type.slice('Array('.length, -1))]
      if (type.includes('String')) return company.owner
      if (type.startsWith('Decimal')) return company.quantity
      if (type === 'Date') return company.occurredText.slice(0, 10)
      return type === 'UInt8' ? 0 : company.occurredAt
    }
    return Object.fromEntries(columns.map(({ name, type }) => [name, byName[name] ?? valueOf(type)]))
  })
}

/** A report of each source, and another one of each that was voided. */
function eventsOf(company: Canary): UsageEvent[] {
  const { namespaceId, accountId, metricId, currency, quantity, properties, occurredAt } = company
  return [metricId, currency].flatMap((source) => {
    const fields = { namespaceId, accountId, quantity, properties, occurredAt, source }
    const voided = makeReport(fields)
    return [
      makeReport({ ...fields, propertyPairs: ['owner=canary'] }),
      voided,
      makeCorrection(voided, { voided: true }),
    ]
  })
}
