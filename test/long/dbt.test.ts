import { rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { readViewsContract } from '../../shared/clickhouse/views-contract.ts'
import type { SchemaOf } from '../../shared/http/operation.ts'
import { exportWith } from '../clients/core/run-program.ts'
import { askAt } from '../support/analysts.ts'
import { ApiClient } from '../support/api-client.ts'
import { runCommand } from '../support/by-hand.ts'
import { untilChangesComplete } from '../support/complete-changes.ts'
import { failureOf } from '../support/failure-of.ts'
import { copyPrograms, installPython, requirePrograms, runIn } from '../support/programs.ts'
import { type RunningTally, startTally } from '../support/start-tally.ts'
import { until } from '../support/until.ts'
import { makeWorld } from '../support/usage-world.ts'

/** Long, because packages are fetched over the network. */
const TIMEOUT_MS = 1_800_000
const DAY_S = 86_400
const REFUSED =
  'analysts can only read; make tables in a workspace (of a ClickHouse server), or in DuckDB from exports: docs/guides/analysts.md#dbt'
const CHANGES = 'event_changes'
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
  let since: string | undefined

  const report = async (fields: { metric_id?: string; currency?: string; quantity: string }) => {
    const { body } = await world.report(fields)
    events.push(body.id)
  }

  before(async function () {
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    folder = await copyPrograms('../clients/dbt')
    await installPython(folder)
    // Why a separate Tally: analysts of one company see all of its usage, and revenue is rated every second.
    tally = await startTally({ env: { ROLLUP_RATE_EVERY_S: '1' } })
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
    env['TALLY_DATABASE'] = (await ask('SELECT currentDatabase()')).trim()
    await until(async () => (await ask('SELECT count() FROM accounts')) === '1\n')
  })
  after(() => (tally as RunningTally | undefined)?.discard())

  const dbt = (...words: string[]) => runIn(folder, 'venv/bin/dbt', [...words, '--profiles-dir', '.'], env)

  async function ask(query: string): Promise<string> {
    const { CLICKHOUSE_USER: user = '', CLICKHOUSE_PASSWORD: password = '' } = env
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    const { status, text } = await askAt(tally.analystUrl, query, {}, { authorization })
    expect(status, text).to.equal(200)
    return text
  }

  /**
   * Exports all views, as docs/guides/export.md says. What has changed comes beside what was there, all else in its
   * place.
   *
   * @returns the `--since` of the next time
   */
  async function exportAll(name: string, since: string | undefined): Promise<string> {
    await untilChangesComplete(ask)
    let next = ''
    for (const { name: view } of readViewsContract().views) {
      const target = path.join(folder, 'exports', view, ...(view === CHANGES ? [name] : []))
      await rm(target, { recursive: true, force: true })
      const words = ['--url', tally.analystUrl, '--view', view, '--format', 'parquet', '--dir', target]
      const more = view === CHANGES && since !== undefined ? ['--since', since] : []
      const { code, err } = await exportWith([...words, ...more], { env })
      expect(code, `${view}: ${err}`).to.equal(0)
      next = /--since (\S+)/.exec(err)?.[1] ?? next
    }
    return next
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
      ).map(([source = '', sum = '']) => [source, withoutZeros(sum)]),
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
    since = await exportAll('first', undefined)
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
    await until(async () => (await ask('SELECT countIf(is_void), count() FROM event_changes')) === '1\t7\n')
    since = await exportAll('second', since)
    await dbt('build', '--target', 'embedded')
    for (const table of ['fct_events', 'fct_usage_daily'])
      expect(await sumsOf(table), table).to.deep.equal(usage)
    expect(await duckdb('SELECT count(*) FROM fct_events')).to.deep.equal([['6']])
    expect(await duckdb(`SELECT count(*) FROM fct_events WHERE event_id = '${voided}'`)).to.deep.equal([
      ['0'],
    ])
  })

  it('has the revenue of the API, line by line', async () => {
    const contract = await makeContract()
    const preview = await api.create<SchemaOf<'InvoicePreview'>>('/v2/invoice-previews', {
      contract_id: contract,
    })
    const expected = preview.lines.map((line) => [
      line.metric_id === null ? 'visits' : 'tokens',
      line.quantity,
      line.amount,
    ])
    expect(expected.map(([product, quantity]) => [product, quantity])).to.have.deep.members([
      ['tokens', '2469135789.500000000000000002'],
      ['visits', '1'],
    ])
    expect(preview.unrated).to.have.length(1)
    await until(
      async () =>
        (await ask(`SELECT countIf(is_unrated) FROM rated_usage WHERE contract_id = '${contract}'`)) !==
        '0\n',
    )
    await exportAll('third', since)
    await dbt('build', '--target', 'embedded')
    const lines = await duckdb(
      `SELECT product_name, cast(sum(quantity) AS VARCHAR), cast(sum(amount) AS VARCHAR)
       FROM fct_revenue WHERE contract_id = '${contract}' AND NOT is_unrated GROUP BY ALL ORDER BY ALL`,
    )
    expect(lines.map((line) => line.map(withoutZeros))).to.have.deep.members(expected)
    const [total] = await duckdb(
      'SELECT cast(sum(amount) AS VARCHAR), account_name, currency FROM fct_revenue GROUP BY ALL',
    )
    expect(total?.map(withoutZeros)).to.deep.equal([preview.total, 'a', 'usd'])
  })

  /** A contract with a rate for tokens and a fixed price, and none for usage in a currency. */
  async function makeContract(): Promise<string> {
    const make = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
    const start = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S - DAY_S
    const tokens = await make('/v2/prices', {
      product_id: await make('/v2/products', { name: 'tokens' }),
      currency: 'usd',
      model: 'per_unit',
      unit_amount: '0.0123456789',
      per: '7',
    })
    const visits = await make('/v2/prices', {
      product_id: await make('/v2/products', { name: 'visits' }),
      currency: 'usd',
      model: 'per_unit',
      unit_amount: '49.99',
    })
    const card = await make('/v2/rate-cards', {
      name: 'card',
      currency: 'usd',
      rates: [{ metric_id: world.tokens, price_id: tokens, starts_at: start }],
    })
    return make('/v2/contracts', {
      account_id: world.account,
      currency: 'usd',
      cadence: 'month',
      starts_at: start,
      lines: [{ rate_card_id: card }, { price_id: visits, quantity: '1' }],
    })
  }
})

/** A decimal as the API writes it. */
const withoutZeros = (text: string): string => (/^\d+\.\d+$/.test(text) ? text.replace(/\.?0+$/, '') : text)
