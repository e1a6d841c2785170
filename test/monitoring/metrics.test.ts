import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { USAGE_TOPIC } from '../../shared/event-log/event-log.ts'
import { ApiClient } from '../support/api-client.ts'
import { breakReads } from '../support/break-reads.ts'
import { requirePrograms } from '../support/programs.ts'
import { startPrometheus } from '../support/prometheus.ts'
import type { ServiceName } from '../support/start-service.ts'
import {
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../support/start-services.ts'
import { until } from '../support/until.ts'
import { makeWorld } from '../support/usage-world.ts'
import { type Dashboard, readText } from './monitoring-files.ts'

/** What has no value in a new installation that nothing happened to. */
const EMPTY_AT_FIRST = new Set([
  // The first count of usage, and the first closed slot, come after some minutes.
  'max(tally_usage_missing_events)',
  'max(tally_rollup_behind_seconds)',
])

const NAMES: readonly ServiceName[] = ['gateway', 'loader', 'api', 'refill', 'rollup']

/** The metrics that a process shows at one time. */
interface Scrape {
  types: Map<string, string>
  /** Values by series, in the form `name{label="value"}`. */
  values: Map<string, number>
}

describe('docs/metrics.md', function () {
  this.timeout(120_000)
  let engines: SharedEngines
  let services: RunningServices
  let documented: { name: string; type: string; labels: string[]; shownBy: string[] }[]

  before(async () => {
    // Why separate services: each must show all of its metrics, and no others.
    engines = await startSharedEngines('metrics')
    services = await startServices(engines)
    const text = await readFile(path.join(PROJECT_ROOT, 'docs/metrics.md'), 'utf8')
    const [, table = ''] = /<!-- metrics -->\n\n([^]*?)\n\n/.exec(text) ?? []
    documented = table
      .split('\n')
      .slice(2)
      .map((row) => {
        const [, name = '', type = '', labels = '', shownBy = ''] = row.split('|').map((cell) => cell.trim())
        const words = (cell: string) => cell.match(/\w+/g) ?? []
        return { name: name.replaceAll('`', ''), type, labels: words(labels), shownBy: words(shownBy) }
      })
  })
  after(async () => {
    await services.stop()
    await engines.close()
  })

  const scrape = async (name: ServiceName): Promise<Scrape> => {
    const response = await fetch(`${services[name].adminUrl}/metrics`)
    expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
    return parse(await response.text())
  }

  it('lists what each process shows, with its type and labels, and nothing else', async () => {
    const api = new ApiClient(services.url, services.key)
    const world = await makeWorld(api)
    await world.report({ metric_id: world.tokens, quantity: '1' })
    await world.counted(1)
    for (const name of NAMES) {
      const { types, values } = await until(async () => {
        const seen = await scrape(name)
        return [...seen.types].some(([metric]) => metric.startsWith('tally_')) && seen
      })
      const ours = [...types].filter(([metric]) => metric.startsWith('tally_')).sort()
      const expected = documented.filter(({ shownBy }) => shownBy.includes(name))
      expect(ours, name).to.deep.equal(expected.map((row) => [row.name, row.type] as const).sort())
      for (const row of expected)
        expect(labelsOf(values, row.name), row.name).to.deep.equal(row.labels.sort())
      expect([...types.keys()]).to.include.members([
        'nodejs_eventloop_lag_p99_seconds',
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
      ])
    }
  })

  it('tells of metrics that move when usage flows', async () => {
    const before = await scrapeAll()
    const world = await makeWorld(new ApiClient(services.url, services.key))
    await world.reportAll(Array.from({ length: 30 }, () => ({ metric_id: world.tokens, quantity: '1' })))
    await world.report({ metric_id: 'metric_00000000000000000000000000000000', quantity: '1' })
    await world.counted(30)
    const rise = await until(async () => {
      const after = await scrapeAll()
      const rose = (name: ServiceName, series: string) =>
        (after[name].values.get(series) ?? 0) - (before[name].values.get(series) ?? 0)
      return rose('loader', 'tally_loader_rows_total') === 30 && rose
    })
    expect(rise('gateway', 'tally_gateway_events_total{status="2xx"}')).to.equal(30)
    expect(rise('gateway', 'tally_gateway_events_total{status="4xx"}')).to.equal(1)
    expect(rise('gateway', 'tally_event_log_append_duration_seconds_count')).to.equal(1)
    const batches = 'tally_http_requests_total{route="POST /v2/events/batch",status="202"}'
    expect(rise('gateway', batches)).to.equal(1)
    const took = 'tally_http_request_duration_seconds_count{route="POST /v2/events/batch"}'
    expect(rise('gateway', took)).to.equal(1)
    for (const series of [
      'tally_loader_batch_rows_sum',
      'tally_loader_batch_bytes_sum',
      'tally_loader_insert_duration_seconds_count',
      'tally_loader_freshness_seconds_count{event="oldest"}',
      'tally_loader_freshness_seconds_count{event="newest"}',
    ])
      expect(rise('loader', series), series).to.be.above(0)
    expect(rise('loader', 'tally_loader_freshness_seconds_sum{event="oldest"}')).to.be.within(0, 60)
    expect(rise('api', 'tally_clickhouse_query_duration_seconds_count{outcome="ok"}')).to.be.above(0)
    expect(rise('api', 'tally_http_requests_total{route="POST /v2/accounts",status="200"}')).to.equal(1)
  })

  it('tells how far the loaders are behind', async () => {
    const world = await makeWorld(new ApiClient(services.url, services.key))
    const mend = await breakReads(engines.db, USAGE_TOPIC)
    for (const quantity of ['1', '2', '3']) await world.report({ metric_id: world.tokens, quantity })
    // A metric that cannot be read is absent, and all others are shown.
    const { values } = await scrape('loader')
    expect(values.get('tally_event_log_unread_records')).to.satisfy(Number.isNaN)
    await services.loader.stop()
    await mend()
    await services.loader.restart()
    await world.counted(3)
    const behind = await until(async () => {
      const seen = await scrape('loader')
      return seen.values.get('tally_event_log_unread_records') === 0 && seen
    })
    expect(behind.values.get('tally_event_log_oldest_unread_seconds')).to.equal(0)
  })

  it('fill every panel of the dashboard, and fire no alert while all is well', async function () {
    requirePrograms(this, 'REQUIRE_PROMETHEUS', [['prometheus', '--version']])
    const { panels } = JSON.parse(readText('deploy/monitoring/tally.json')) as Dashboard
    const rules = path.join(PROJECT_ROOT, 'deploy/monitoring/rules.yaml')
    const prometheus = await startPrometheus(
      rules,
      NAMES.map((name) => services[name].adminUrl),
    )
    try {
      const api = new ApiClient(services.url, services.key)
      const world = await makeWorld(api)
      await until(async () => (await prometheus.query('count(tally_build_info)')).get('{}') === NAMES.length)
      for (const at of [1, 2]) {
        await world.report({ metric_id: world.tokens, quantity: '1' })
        await world.counted(at)
        await world.balance(`metric_id=${world.tokens}`)
      }
      for (const { title, targets } of panels)
        for (const { expr } of targets) {
          const expression = expr.replaceAll('$__rate_interval', '1m')
          const shows = await until(async () => {
            const values = [...(await prometheus.query(expression)).values()]
            return values.some((value) => !Number.isNaN(value)) || EMPTY_AT_FIRST.has(expr)
          }, 15_000).catch(() => false)
          expect(shows, `${title}: ${expr}`).to.equal(true)
        }
      // Rollups exist some minutes after the first start. Of five minutes of waiting there are only seconds yet.
      const atFirst = ['TallyRollupsBehind', 'TallyPostgresWaiting']
      const active = await prometheus.activeAlerts()
      expect(active.filter((alert) => !atFirst.includes(alert))).to.deep.equal([])
    } finally {
      await prometheus.stop()
    }
  })

  const scrapeAll = async (): Promise<Record<ServiceName, Scrape>> => ({
    gateway: await scrape('gateway'),
    loader: await scrape('loader'),
    api: await scrape('api'),
    refill: await scrape('refill'),
    rollup: await scrape('rollup'),
  })
})

/** The label names of a metric's series, without those of histogram buckets. */
function labelsOf(values: ReadonlyMap<string, number>, metric: string): string[] {
  const found = new Set<string>()
  for (const series of values.keys()) {
    const [name = '', labels = ''] = series.split(/[{}]/)
    if (name !== metric && name !== `${metric}_count`) continue
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) found.add(label)
  }
  return [...found].sort()
}

/** Parses Prometheus' text format, and fails on any other line. */
function parse(text: string): Scrape {
  const types = new Map<string, string>()
  const values = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [, metric, type] = /^# TYPE ([a-z_]\w*) (counter|gauge|histogram|summary)$/.exec(line) ?? []
    if (metric !== undefined && type !== undefined) types.set(metric, type)
    if (line === '' || line.startsWith('#')) continue
    const [, series, value] = /^([a-z_]\w*(?:\{(?:\w+="[^"]*",?)+\})?) (\S+)$/.exec(line) ?? []
    if (series === undefined || value === undefined) throw new Error(`not a line of Prometheus: ${line}`)
    values.set(series, value === 'Nan' ? NaN : Number(value.replace('+Inf', 'Infinity')))
  }
  return { types, values }
}
