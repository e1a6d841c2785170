import { readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { DATABASES_TABLE, METADATA_TABLES } from '../../../services/analysts/judge/metadata-tables.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { analystViewNames } from '../../../shared/clickhouse/views-contract.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { type AnalystEndpoint, startAnalysts } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'

const TOOLS = path.join(PROJECT_ROOT, 'test/services/analysts/tools')

describe('what tools ask at the ClickHouse endpoint', () => {
  let clickhouse: OpenedClickHouse
  let endpoint: AnalystEndpoint
  before(async () => {
    clickhouse = await createClickHouse('tools')
    endpoint = await startAnalysts(clickhouse)
    await clickhouse.client.command({
      query: `INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version)
        SELECT 'namespace', concat('account_', toString(number)), 'usd', toDateTime(1767225600, 'UTC'),
          concat('event_', leftPad(toString(number), 32, '0')), number, '{}', toDateTime(1767225600, 'UTC'), 1
        FROM numbers(1, 2)`,
    })
  })
  after(async () => {
    await endpoint.close()
    await clickhouse.close()
  })

  const read = async (query: string): Promise<string> => {
    const { status, text } = await endpoint.ask(query)
    expect(status, `${query}: ${text}`).to.equal(200)
    const folder = clickhouse.engine?.folder ?? ''
    expect(folder).to.match(/^\/./)
    for (const secret of [folder, path.dirname(folder), hostname()])
      expect(text.includes(secret), `${query} shows ${secret}`).to.equal(false)
    return text
  }

  for (const file of readdirSync(TOOLS))
    it(`is answered: ${file}`, async () => {
      const written = readFileSync(path.join(TOOLS, file), 'utf8')
        .replace(/^--.*$/m, '')
        .replaceAll('tally_analytics', endpoint.database)
      const statements = written
        .split(/;\n/)
        .map((one) => one.trim())
        .filter((one) => one !== '')
      expect(statements.length).to.be.greaterThan(5)
      for (const statement of statements) await read(statement)
    })

  it('is filtered by table as Grafana does it, in the statement or in the URL', async () => {
    const values = 'SELECT count() FROM daily_usage AS d'
    const filtered = (filter: string) => `{'${endpoint.database}.daily_usage': '${filter}'}`
    const count = async (filter: string) => {
      const text = await read(`${values} SETTINGS additional_table_filters = ${filtered(filter)}`)
      const inUrl = await endpoint.ask(values, { additional_table_filters: filtered(filter) })
      expect(inUrl.text).to.equal(text)
      return text
    }
    expect(await count('1')).to.equal('2\n')
    expect(await count("account_id = \\'account_1\\'")).to.equal('1\n')
    expect(await count('account_id IN (SELECT account_id FROM events WHERE quantity > 1) OR 0')).to.equal(
      '1\n',
    )
    const both = await endpoint.ask('SELECT 1', { additional_table_filters: filtered('no_such_column = 1') })
    expect(both.status).to.equal(404)
  })

  it('is refused at once, a filter that takes long to look through', async () => {
    const startedAt = performance.now()
    const { status } = await endpoint.ask('SELECT 1', { additional_table_filters: `{${' '.repeat(6_000)}x` })
    const long = await endpoint.ask(
      `SELECT 1 SETTINGS additional_table_filters = {'events': '${' '.repeat(60_000)}x'}`,
    )
    expect([status, long.status]).to.deep.equal([400, 400])
    expect(performance.now() - startedAt).to.be.lessThan(2_000)
  })

  it('is read from tables of the engine that show their own views alone', async () => {
    for (const table of METADATA_TABLES)
      await read(
        table === DATABASES_TABLE
          ? `SELECT name, comment, count(*) FROM ${table} GROUP BY ALL`
          : `SELECT * FROM ${table}`,
      )
    expect(await read('SELECT DISTINCT database FROM system.tables')).to.not.contain(
      `${clickhouse.database}\n`,
    )
    const own = `database = '${endpoint.database}'`
    expect(await read(`SELECT name FROM system.tables WHERE ${own} ORDER BY name`)).to.equal(
      `${analystViewNames().sort().join('\n')}\n`,
    )
    expect(await read('SELECT count() FROM system.parts')).to.equal('0\n')
    expect(await read(`SELECT count() FROM system.columns WHERE ${own} AND table = 'usage_events'`)).to.equal(
      '0\n',
    )
  })

  it('has the settings that a query may have, and no others', async () => {
    const names = (await read('SELECT name, readonly FROM system.settings ORDER BY name')).trim().split('\n')
    expect(names).to.include.members(['max_block_size\t0', 'max_threads\t0', 'session_timezone\t0'])
    expect(names.join('\n')).to.not.match(/^(?:allow_ddl|format_schema|http_max_uri_size)\t/m)
    expect(await read("SELECT ' system.settings ' AS text")).to.equal(' system.settings \n')
  })

  it('shows the columns of a view with types, and not what is beneath it', async () => {
    const shown = await read('SHOW CREATE TABLE events FORMAT TSVRaw')
    expect(shown).to.match(/^CREATE VIEW \w+\.events\n\(\n    `\w+` /)
    expect(shown).to.contain('    `quantity` Decimal(76, 18)')
    expect(shown).to.not.contain('usage_events')
  })

  it('describes and explains a query', async () => {
    expect(await read('DESCRIBE (SELECT quantity, 1 AS one FROM events)')).to.match(
      /^quantity\tDecimal\(76, 18\)\t+\none\tUInt8\t+\n$/,
    )
    for (const explain of [
      'EXPLAIN',
      'EXPLAIN SYNTAX',
      'EXPLAIN PIPELINE',
      'EXPLAIN indexes = 1, actions = 0',
    ])
      expect(await read(`${explain} SELECT sum(quantity) FROM events`)).to.not.equal('')
    expect(await read("SELECT c1, c2 FROM VALUES ((1, 'a'), (2, 'b'))")).to.equal('1\ta\n2\tb\n')
  })
})
