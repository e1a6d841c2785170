import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeAnalystViews } from '../../../shared/clickhouse/analyst-views.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../../shared/clickhouse/dimensions.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import { type AnalystEndpoint, PASSWORD, startAnalysts, USER } from '../../support/analysts.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { buildGo, copyPrograms, requirePrograms, runIn } from '../../support/programs.ts'
import { NAMESPACE } from '../../support/usage-event.ts'
import { accountId, CALLS, makeWorld, storeWorld, TOKENS, type World } from './question-world.ts'

const FILE = path.join(PROJECT_ROOT, 'deploy/monitoring/usage.json')
/** Long, because the first run fetches packages over the network and builds them. */
const TIMEOUT_MS = 600_000
const ANSWERED_IN_MS = 2_000
/** So many queries of an analyst may wait, and a browser asks all at once. */
const STATEMENTS_MAX = 20
/** A filter of the program that no row passes. */
const KEEPS_NOTHING = "events < \\'0\\'"

interface Panel {
  type: string
  title: string
  description: string
  datasource: { uid: string }
  targets: { rawSql: string }[]
}

/** A line of what the program prints. */
interface Asked {
  kind: string
  name: string
  rows: number
  ms: number
}

interface Dashboard {
  time: { from: string }
  templating: { list: { name: string; type: string; query: string }[] }
  panels: Panel[]
}

describe('the dashboard for Grafana', () => {
  const dashboard = JSON.parse(readFileSync(FILE, 'utf8')) as Dashboard
  const panels = dashboard.panels.filter(({ type }) => type !== 'row')
  const statements = panels.flatMap(({ title, targets }) => targets.map(({ rawSql }) => ({ title, rawSql })))

  it('says what each panel shows, and is of the company that is chosen', () => {
    for (const { title, description, datasource, targets } of panels) {
      expect(title).to.match(/^[A-Z]/)
      expect(description, title).to.match(/\.$/)
      expect(datasource.uid, title).to.equal('${datasource}')
      expect(targets.length, title).to.equal(1)
    }
    expect(new Set(panels.map(({ title }) => title)).size).to.equal(panels.length)
    expect(dashboard.templating.list.map(({ name }) => name)).to.deep.equal([
      'datasource',
      'metric',
      'account',
    ])
    expect(statements.length).to.be.within(10, STATEMENTS_MAX)
  })

  it('has exact figures, of one metric or currency each, and no alert rules', () => {
    for (const { title, rawSql } of statements) {
      expect(rawSql, title).to.not.match(/\b(?:uniq|quantile|median|avg)\(/)
      if (/sum\(quantity\)/.test(rawSql))
        expect(rawSql, title).to.match(
          /coalesce\(metric_id, currency\) = \$\{metric:sqlstring\}|GROUP BY metric_id, (?:usage_)?currency/,
        )
      if (/sum\(amount\)/.test(rawSql)) expect(rawSql, title).to.match(/GROUP BY .*currency/)
    }
    expect(JSON.stringify(dashboard)).to.not.match(/"alert/)
  })

  describe('with the driver and the options of its data source', function () {
    this.timeout(TIMEOUT_MS)
    let clickhouse: OpenedClickHouse
    let endpoint: AnalystEndpoint
    let world: World
    before(async () => {
      clickhouse = await createClickHouse('grafana')
      const { client, database } = clickhouse
      await makeAnalystViews(client, { database, into: `${database}_analytics`, namespaceId: NAMESPACE })
      world = makeWorld()
      await storeWorld(clickhouse, world)
      await dimensionRepository(client).note({ fill: 1, position: 1 }, world.now * 1_000_000)
      await storeRated(clickhouse, world)
      endpoint = await startAnalysts(clickhouse, { waitingMaxOfOne: STATEMENTS_MAX })
    })
    after(async () => {
      await endpoint.close()
      await clickhouse.close()
    })

    /** Asks what Grafana does when it opens the dashboard with these panels. */
    const open = async (suite: Mocha.Context, shown: readonly Panel[]): Promise<Asked[]> => {
      requirePrograms(suite, 'REQUIRE_GO', [['go', 'version']])
      const folder = await copyPrograms('services/analysts/clients/grafana')
      await buildGo(folder, 'open')
      const file = path.join(folder, 'usage.json')
      await writeFile(file, JSON.stringify({ ...dashboard, panels: shown }))
      const printed = await runIn(folder, './open', [new URL(endpoint.url).host, USER, PASSWORD, file])
      return printed
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t'))
        .map(([kind = '', name = '', rows, ms]) => ({ kind, name, rows: Number(rows), ms: Number(ms) }))
    }
    const expectFull = (asked: readonly Asked[], shown: readonly Panel[]) => {
      const titles = asked.filter(({ kind }) => kind === 'panel').map(({ name }) => name)
      expect(titles).to.deep.equal(shown.map(({ title }) => title))
      for (const { kind, name, rows, ms } of asked) {
        if (name !== KEEPS_NOTHING) expect(rows, `rows of ${kind} ${name}`).to.be.greaterThan(0)
        if (kind !== 'all at once') expect(ms, `ms of ${kind} ${name}`).to.be.lessThan(ANSWERED_IN_MS)
      }
      expect(asked.at(-1)).to.include({ kind: 'all at once', rows: shown.length })
    }

    it('opens full: each panel and variable has rows, soon', async function () {
      const asked = await open(this, panels)
      expectFull(asked, panels)
      const namesOf = (of: string) => asked.filter(({ kind }) => kind === of).map(({ name }) => name)
      expect(namesOf('variable')).to.deep.equal(['metric', 'account'])
      expect(namesOf('health')).to.deep.equal(['SELECT 1', 'SELECT version()'])
      expect(namesOf('schema').length).to.be.greaterThan(5)
      expect(asked.find(({ name }) => name === KEEPS_NOTHING)).to.include({ kind: 'filter', rows: 0 })
    })
  })
})

/** The rating of one period of a contract, in which one metric is rated and one is not. */
async function storeRated({ client }: OpenedClickHouse, { today, now }: World): Promise<void> {
  const days = Array.from({ length: 10 }, (_, ago) => new Date((today - ago * DAY_S) * 1_000))
  const lines = days.flatMap((day) =>
    [TOKENS, CALLS].map((metric) => ({
      day: day.toISOString().slice(0, 10),
      kind: metric === TOKENS ? 'usage' : 'unrated',
      metric_id: metric,
      quantity: '1000.000000000000000001',
      events: 3,
      exact_amount: metric === TOKENS ? '12.345' : '0',
      amount: metric === TOKENS ? '12.35' : '0',
    })),
  )
  const columns = Object.keys(lines[0] ?? {}) as (keyof (typeof lines)[number])[]
  const nothing = lines.map(() => null)
  await client.insert({
    table: 'rated_periods',
    values: [
      {
        namespace_id: NAMESPACE,
        contract_id: 'contract_1',
        account_id: accountId(1),
        starts_at: today - 20 * DAY_S,
        ends_at: today + 10 * DAY_S,
        currency: 'usd',
        as_of: now,
        usage_as_of: now,
        rated_at: now * 1_000_000,
        ...Object.fromEntries(columns.map((name) => [`line_${name}`, lines.map((line) => line[name])])),
        ...Object.fromEntries(EMPTY_COLUMNS.map((name) => [`line_${name}`, nothing])),
        ...Object.fromEntries(ZERO_COLUMNS.map((name) => [`line_${name}`, lines.map(() => '0')])),
        version: '1',
        is_deleted: 0,
      },
    ],
    format: 'JSONEachRow',
  })
}

/** What the dashboard does not read of a rated line. */
const EMPTY_COLUMNS = [
  'contract_line_id',
  'rate_id',
  'product_id',
  'price_id',
  'usage_currency',
  'aggregation',
  'group_by',
  'value',
  'unit_amount',
  'per',
]
const ZERO_COLUMNS = ['starts_at', 'quantity_to_date', 'exact_amount_to_date', 'amount_to_date']
