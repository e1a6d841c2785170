import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { readViewsContract } from '../../shared/clickhouse/views-contract.ts'
import { askAt } from '../support/analysts.ts'
import { ApiClient } from '../support/api-client.ts'
import { runCommand } from '../support/by-hand.ts'
import { failureOf } from '../support/failure-of.ts'
import { copyPrograms, installPython, requirePrograms, runIn } from '../support/programs.ts'
import { type RunningTally, startTally } from '../support/start-tally.ts'
import { until } from '../support/until.ts'
import { makeWorld } from '../support/usage-world.ts'

/** Long, because packages are fetched over the network. */
const TIMEOUT_MS = 900_000
const REFUSED =
  'analysts read; build in a workspace (server) or in DuckDB from exports: docs/guides/analysts.md#dbt'
const MODELS = ['dim_accounts', 'fct_events', 'fct_usage_daily']
/** No double holds it. */
const QUANTITY = '1234567890.000000000000000001'

describe('the dbt package', function () {
  this.timeout(TIMEOUT_MS)
  let tally: RunningTally
  let world: Awaited<ReturnType<typeof makeWorld>>
  let api: ApiClient
  let folder: string
  let env: Record<string, string>
  const events: string[] = []

  const report = async (fields: { metric_id?: string; currency?: string; quantity: string }) => {
    const { body } = await world.report(fields)
    events.push(body.id)
  }

  before(async function () {
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    folder = await copyPrograms('../clients/dbt')
    await installPython(folder)
    // Why a separate Tally: analysts of one company see all of its usage.
    tally = await startTally()
    api = new ApiClient(tally.url, tally.key)
    world = await makeWorld(api)
    for (let n = 0; n < 3; n++) {
      await report({ metric_id: world.tokens, quantity: QUANTITY })
      await report({ currency: 'usd', quantity: '0.000000000000000001' })
    }
    await world.counted(events.length)
    const { output } = await runCommand(tally.dataFolder, 'analysts', 'add', '--name', 'ada')
    const { hostname, port } = new URL(tally.analystUrl)
    env = {
      CLICKHOUSE_HOST: hostname,
      CLICKHOUSE_PORT: port,
      CLICKHOUSE_USER: 'ada',
      CLICKHOUSE_PASSWORD: /^password +(\S+)$/m.exec(output)?.[1] ?? '',
    }
    env['TALLY_DATABASE'] = (await ask('SELECT currentDatabase()')).toString().trim()
    await until(async () => (await ask('SELECT count() FROM accounts')).toString() === '1\n')
  })
  after(() => (tally as RunningTally | undefined)?.discard())

  const dbt = (...words: string[]) => runIn(folder, 'venv/bin/dbt', [...words, '--profiles-dir', '.'], env)

  async function ask(query: string): Promise<Buffer> {
    const url = `${tally.analystUrl}?wait_end_of_query=1`
    const authorization = `Basic ${Buffer.from(`${env['CLICKHOUSE_USER'] ?? ''}:${env['CLICKHOUSE_PASSWORD'] ?? ''}`).toString('base64')}`
    const response = await fetch(url, { method: 'POST', body: query, headers: { authorization } })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(response.status, bytes.toString()).to.equal(200)
    return bytes
  }

  /** Writes all views as Parquet, with the narrow decimals that DuckDB reads. */
  async function exportAll(name: string, since = '1970-01-01'): Promise<void> {
    for (const view of readViewsContract().views) {
      const columns = view.columns.map((column) =>
        column.type.includes('Decimal(76, 18)')
          ? `toDecimal128(${column.name}, 18) AS ${column.name}`
          : column.name,
      )
      const isOfChanges = view.name === 'event_changes'
      const where = isOfChanges ? ` WHERE changed_at >= '${since}'` : ''
      const target = path.join(folder, 'exports', view.name, ...(isOfChanges ? [name] : []))
      await mkdir(target, { recursive: true })
      const file = path.join(target, 'all.parquet')
      await writeFile(
        file,
        await ask(`SELECT ${columns.join(', ')} FROM ${view.name}${where} FORMAT Parquet`),
      )
    }
  }

  /** Asks the file that dbt has built. */
  const duckdb = async (query: string): Promise<string[][]> => {
    const program = `import duckdb
for row in duckdb.connect('tally.duckdb', read_only=True).sql("""${query}""").fetchall():
    print(*row, sep='\\t')`
    const printed = await runIn(folder, 'venv/bin/python', ['-c', program])
    return printed
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'))
  }

  /** The sums of a table by metric or currency, as the API writes decimals. */
  const sumsOf = async (table: string) =>
    Object.fromEntries(
      (
        await duckdb(
          `SELECT coalesce(metric_id, currency), cast(sum(quantity) AS VARCHAR) FROM ${table} GROUP BY 1`,
        )
      ).map(([source = '', sum = '']) => [source, sum.replace(/\.?0+$/, '')]),
    )

  it('compiles, tests, documents and shows at the read-only port', async () => {
    await dbt('debug')
    await dbt('compile')
    expect(await dbt('source', 'freshness')).to.match(/PASS freshness of tally\.accounts/)
    expect(await dbt('test')).to.match(/Done\. PASS=(\d\d) WARN=0 ERROR=0 SKIP=0 NO-OP=0 TOTAL=\1/)
    await dbt('docs', 'generate')
    const shown = await dbt('show', '--select', 'fct_usage_daily', '--output', 'json')
    expect(shown).to.contain(world.account)
    expect(shown).to.contain('"account_name": "a"')
  })

  it('makes nothing there, and says where to build', async () => {
    for (const materialized of ['table', 'view', 'incremental']) {
      const failure = await failureOf(dbt('run', '--vars', `{materialized: ${materialized}}`))
      expect(failure, materialized).to.be.an('error')
      const { message, cause } = failure as Error & { cause: { code: number } }
      expect(cause.code).to.equal(1)
      expect(message.split(REFUSED).length - 1, message).to.be.at.least(MODELS.length)
    }
    expect((await askAt(tally.analystUrl, 'DROP TABLE events', {}, {})).status).to.equal(401)
  })

  it('builds tables in DuckDB from exports, whose sums are those of the API', async () => {
    await exportAll('first')
    await dbt('build', '--target', 'embedded')
    const usage = await world.usage()
    expect(usage).to.deep.equal({
      [world.tokens]: '3703703670.000000000000000003',
      usd: '0.000000000000000003',
    })
    for (const table of ['fct_events', 'fct_usage_daily'])
      expect(await sumsOf(table), table).to.deep.equal(usage)
    expect(await duckdb('SELECT account_id, account_name FROM dim_accounts')).to.deep.equal([
      [world.account, 'a'],
    ])
  })

  it('loads what has changed: corrections replace, and what is void is gone', async () => {
    const [corrected = '', voided = ''] = events
    await api.patch(`/v2/events/${corrected}`, { quantity: '7.5' })
    await api.post(`/v2/events/${voided}/void`, {})
    await report({ metric_id: world.tokens, quantity: '2' })
    const usage = await until(async () => {
      const found = await world.usage()
      return (
        found['usd'] === '0.000000000000000002' &&
        found[world.tokens] === '2469135789.500000000000000002' &&
        found
      )
    })
    await until(
      async () => (await ask('SELECT countIf(is_void), count() FROM event_changes')).toString() === '1\t7\n',
    )
    const [[since = ''] = []] = await duckdb(
      "SELECT strftime(max(changed_at) - INTERVAL 1 HOUR, '%Y-%m-%d %H:%M:%S') FROM fct_events",
    )
    await exportAll('second', since)
    await dbt('build', '--target', 'embedded')
    for (const table of ['fct_events', 'fct_usage_daily'])
      expect(await sumsOf(table), table).to.deep.equal(usage)
    expect(await duckdb('SELECT count(*) FROM fct_events')).to.deep.equal([['6']])
    expect(await duckdb(`SELECT count(*) FROM fct_events WHERE event_id = '${voided}'`)).to.deep.equal([
      ['0'],
    ])
  })
})
