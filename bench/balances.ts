import { setTimeout as sleep } from 'node:timers/promises'
import { formatTable } from '../shared/text/format-table.ts'
import { type RunningTally, startTally } from '../test/support/start-tally.ts'
import { until } from '../test/support/until.ts'
import { cpuSecondsOf } from './cpu-time.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import type { DataSet } from './data-set/data-set.ts'
import { accountId, accountOfDraw, ACCOUNTS, CURRENCY } from './data-set/made-up-events.ts'
import { type LoadGenerator, startLoadGenerator } from './load-generator.ts'
import { untilLoaded } from './load-stage.ts'
import { describeMachine, saveResult } from './machine.ts'
import { scrape } from './scrape.ts'
import type { Load, LoadResult } from './send-load.ts'
import { formatSideBySide, measureSideBySide } from './side-by-side.ts'
import { compare, type Compared, formatCompared } from './targets.ts'
import { makeBodies } from './usage-bodies.ts'

export interface BenchBalancesOptions {
  events: number
  /**
   * The folder of the data set, which is made if it is missing. Usage that is reported during the bench is added to it.
   */
  folder: string
  /** The duration for each kind of request, number of connections and condition. */
  seconds: number
  save: string
  print: (line: string) => void
}

/** The requests of a measurement, their conditions, and their answers. */
interface Row {
  beside: Beside
  connections: number
  kind: Kind
  answersPerS: number
  p50Ms: number
  p99Ms: number
  /**
   * CPU time of Tally and its PostgreSQL for each answer, including the time for usage that arrives at the same time.
   */
  cpuMs: number
}

const KINDS = ['health', 'account', 'balance', 'balances of 100'] as const
/** Balances of a tenth of the accounts: their first reads after a start, and later reads. */
const FIRST_KINDS = ['account', 'first balance', 'balance asked again', 'account'] as const
type Kind = (typeof KINDS)[number] | (typeof FIRST_KINDS)[number]

const CONNECTIONS = [1, 16, 64, 256]
/** The largest number of connections that request a hundred balances each. */
const HUNDREDS_MAX = 16
/**
 * The limits during an import. One answer takes half a second then, so more requests would wait ten seconds and be
 * refused.
 */
const BESIDE_IMPORT_MAX = { connections: 64, hundreds: 4 }

const QUIET = 'nothing'
const STARTED = 'nothing, right after a start'
const FEW_EVENTS = '2,000 events/s'
const MANY_EVENTS = '10,000 events/s'
const IMPORT = 'an import of history'
type Beside = typeof QUIET | typeof STARTED | typeof FEW_EVENTS | typeof MANY_EVENTS | typeof IMPORT
/** Events in a batch, and batches a second; without the latter, as many as Tally accepts. */
const USAGE: Record<Exclude<Beside, typeof QUIET | typeof STARTED>, { batch: number; rate?: number }> = {
  [FEW_EVENTS]: { batch: 100, rate: 20 },
  [MANY_EVENTS]: { batch: 1_000, rate: 10 },
  [IMPORT]: { batch: 1_000 },
}

/** The shortest duration, because a query over all events takes seconds. */
const SIDE_BY_SIDE_S = 10
const PATHS = 5_000
const FIRST_S = 5
const FIRST_CONNECTIONS = 64
const WARM_UP_S = 1
const HISTORY_S = 3 * 365 * 86_400
const HISTORY_ENDED_S = 100 * 86_400
const SETTLES_MS = 300_000
const USAGE_CONNECTIONS = 4
/**
 * Tally is idle when it has used less than this share of a core for IDLE_MS. Late usage waits for a shorter time before
 * it is processed.
 */
const IDLE_SHARE = 0.1
const IDLE_MS = 12_000
/** The time for which usage arrives before the measurement begins. */
const BEGUN_AFTER_MS = 2_000

/**
 * Measures concurrent balances: first of 1,000 accounts directly after a start, then of 10,000 accounts. For
 * comparison, accounts themselves and the health check are measured in the same minute. The conditions are: no other
 * work, usage that arrives, and an import of history. Finally it measures balances while an analyst queries and totals
 * of years are read.
 */
export async function benchBalances(options: BenchBalancesOptions): Promise<void> {
  const { events, folder, seconds, save, print } = options
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const tally = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'error' } })
  const [reader, reporter] = [startLoadGenerator(), startLoadGenerator()]
  try {
    const { adminUrl } = tally
    const rows = await measureFirst({ tally, reader, dataSet })
    for (const beside of [QUIET, FEW_EVENTS, MANY_EVENTS, IMPORT] as const) {
      await untilIdle(tally)
      const measured = () => measure({ tally, reader, dataSet, seconds, beside })
      rows.push(
        ...(beside === QUIET
          ? await measured()
          : await whileReporting({ tally, reporter, dataSet, adminUrl, usage: USAGE[beside] }, measured)),
      )
      print(`beside ${beside}: done`)
    }
    for (const line of formatRows(rows)) print(line)
    await untilIdle(tally)
    const sideBySide = await measureSideBySide({
      tally,
      dataSet,
      generator: reader,
      balancePaths: pathsOf('balance', dataSet),
      seconds: Math.max(seconds, SIDE_BY_SIDE_S),
    })
    for (const line of formatSideBySide(sideBySide)) print(line)
    const compared = compareRows(rows, events)
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'balances', events, seconds, rows, sideBySide, compared })
  } finally {
    await Promise.all([reader.close(), reporter.close()])
    await tally.stop()
  }
}

interface Stage {
  tally: RunningTally
  dataSet: DataSet
}

/** Waits until earlier work has ended: merges, late usage. */
async function untilIdle({ process: { pid = 0 } }: RunningTally): Promise<void> {
  const cpuS = async () => {
    const { self, children } = await cpuSecondsOf(pid)
    return self + children
  }
  await until(async () => {
    const before = await cpuS()
    await sleep(IDLE_MS)
    return (await cpuS()) - before < (IDLE_SHARE * IDLE_MS) / 1_000
  }, SETTLES_MS)
}

async function measureFirst({ tally, reader, dataSet }: Stage & { reader: LoadGenerator }): Promise<Row[]> {
  const rows: Row[] = []
  for (const kind of FIRST_KINDS)
    rows.push(
      await measureKind({ tally, reader, dataSet }, kind, FIRST_CONNECTIONS, {
        seconds: FIRST_S,
        beside: STARTED,
      }),
    )
  return rows
}

async function measure({
  tally,
  reader,
  dataSet,
  seconds,
  beside,
}: Stage & { reader: LoadGenerator; seconds: number; beside: Beside }): Promise<Row[]> {
  const rows: Row[] = []
  const most = beside === IMPORT ? BESIDE_IMPORT_MAX : { connections: Infinity, hundreds: HUNDREDS_MAX }
  for (const connections of CONNECTIONS.filter((count) => count <= most.connections))
    for (const kind of KINDS) {
      const atOnce = kind === 'balances of 100' ? Math.min(connections, most.hundreds) : connections
      rows.push(
        await measureKind({ tally, reader, dataSet }, kind, atOnce, { warmUpS: WARM_UP_S, seconds, beside }),
      )
    }
  return rows
}

async function measureKind(
  { tally, reader, dataSet }: Stage & { reader: LoadGenerator },
  kind: Kind,
  connections: number,
  { warmUpS = 0, seconds, beside }: { warmUpS?: number; seconds: number; beside: Beside },
): Promise<Row> {
  const load = {
    url: tally.url,
    headers: { 'x-api-key': tally.key },
    paths: pathsOf(kind, dataSet),
    bodies: [],
    connections,
  }
  if (warmUpS > 0) await reader.load({ ...load, seconds: warmUpS })
  const { result, cpuS } = await withCpu(tally, () => reader.load({ ...load, seconds }))
  return {
    beside,
    connections,
    kind,
    answersPerS: result.acknowledged / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuMs: (1_000 * cpuS) / result.acknowledged,
  }
}

async function withCpu(
  { process: { pid = 0 } }: RunningTally,
  work: () => Promise<LoadResult>,
): Promise<{ result: LoadResult; cpuS: number }> {
  const before = await cpuSecondsOf(pid)
  const result = await work()
  const after = await cpuSecondsOf(pid)
  return { result, cpuS: after.self - before.self + after.children - before.children }
}

function pathsOf(kind: Kind, { metrics }: DataSet): string[] {
  const sources = [...metrics.map((id) => `metric_id=${id}`), `currency=${CURRENCY}`]
  const anyAccount = () => accountId(accountOfDraw(Math.random()))
  const anyOfTenth = () => accountId(Math.floor(Math.random() * (ACCOUNTS / 10)) * 10)
  const hundred = () => {
    const first = Math.floor(Math.random() * (ACCOUNTS - 100))
    return Array.from({ length: 100 }, (_, n) => accountId(first + n)).join(',')
  }
  const balanceOf = (account: string, n: number) =>
    `/v2/accounts/${account}/balance?${sources[n % sources.length] ?? ''}`
  const pathOf: Record<Kind, (n: number) => string> = {
    health: () => '/v2/health',
    account: () => `/v2/accounts/${anyAccount()}`,
    balance: (n) => balanceOf(anyAccount(), n),
    'first balance': (n) => balanceOf(anyOfTenth(), n),
    'balance asked again': (n) => balanceOf(anyOfTenth(), n),
    'balances of 100': () => `/v2/accounts/balances?account_ids=${hundred()}`,
  }
  return Array.from({ length: kind === 'balances of 100' ? PATHS / 100 : PATHS }, (_, n) => pathOf[kind](n))
}

/** Reports usage of the same accounts while something is measured, and waits until it is loaded. */
async function whileReporting<T>(
  {
    tally,
    reporter,
    dataSet,
    adminUrl,
    usage,
  }: Stage & { reporter: LoadGenerator; adminUrl: string; usage: { batch: number; rate?: number } },
  work: () => Promise<T>,
): Promise<T> {
  const accounts = Array.from({ length: ACCOUNTS }, (_, n) => accountId(n))
  const bodies = makeBodies({ accounts, metrics: [...dataSet.metrics] }, usage.batch, true)
  const endAt = Math.floor(Date.now() / 1_000) - HISTORY_ENDED_S
  const past = { kind: 'past', startAt: endAt - HISTORY_S, endAt, events: 1, shuffled: true } as const
  const load: Omit<Load, 'seconds'> = {
    url: `${tally.url}/v2/events/batch`,
    headers: { 'content-type': 'application/json', 'x-api-key': tally.key },
    bodies: bodies.map(({ bytes }) => bytes),
    connections: USAGE_CONNECTIONS,
    ...(usage.rate === undefined ? { times: past } : { rate: usage.rate }),
  }
  const before = (await scrape(adminUrl)).sum('tally_loader_rows_total')
  const over = new AbortController()
  let reported = 0
  const reporting = (async () => {
    while (!over.signal.aborted) reported += (await reporter.load({ ...load, seconds: 1 })).acknowledged
  })()
  try {
    await sleep(BEGUN_AFTER_MS)
    return await work()
  } finally {
    over.abort()
    await reporting
    await untilLoaded(adminUrl, before + reported * usage.batch)
  }
}

function formatRows(rows: readonly Row[]): string[] {
  const headings = ['beside', 'asked', 'connections', 'answers/s', 'p50 ms', 'p99 ms', 'CPU ms']
  const cells = rows.map(({ beside, kind, connections, ...row }) => [
    beside,
    kind,
    String(connections),
    Math.round(row.answersPerS).toLocaleString('en-US'),
    ...[row.p50Ms, row.p99Ms].map((ms) => ms.toFixed(1)),
    row.cpuMs.toFixed(2),
  ])
  return formatTable(headings, cells, 2)
}

function compareRows(rows: readonly Row[], events: number): Compared[] {
  /** The mean, if the figure was measured more than once. */
  const of = (beside: Beside, kind: Kind, figure: 'answersPerS' | 'p99Ms'): number => {
    const found = rows.filter((one) => one.beside === beside && one.kind === kind && one.connections === 64)
    if (found.length === 0) throw new Error(`${kind} beside ${beside} was not measured`)
    return found.reduce((sum, row) => sum + row[figure], 0) / found.length
  }
  const ratio = (beside: Beside, figure: 'answersPerS' | 'p99Ms', kind: Kind = 'balance') =>
    of(beside, kind, figure) / of(beside, 'account', figure)
  const on = `${events.toLocaleString('en-US')} events`
  return [
    compare({ measure: 'firstBalances', value: ratio(STARTED, 'answersPerS', 'first balance'), on }),
    compare({ measure: 'firstBalancesP99', value: ratio(STARTED, 'p99Ms', 'first balance'), on }),
    compare({ measure: 'balancesAgain', value: ratio(STARTED, 'answersPerS', 'balance asked again'), on }),
    compare({ measure: 'balancesAgainP99', value: ratio(STARTED, 'p99Ms', 'balance asked again'), on }),
    compare({ measure: 'balancesPerS', value: of(QUIET, 'balance', 'answersPerS'), on }),
    compare({ measure: 'balancesAtOnce', value: ratio(QUIET, 'answersPerS'), on }),
    compare({ measure: 'balancesAtOnceP99', value: ratio(QUIET, 'p99Ms'), on }),
    compare({ measure: 'balancesBesideUsage', value: ratio(FEW_EVENTS, 'answersPerS'), on }),
    compare({ measure: 'balancesBesideUsageP99', value: ratio(FEW_EVENTS, 'p99Ms'), on }),
    compare({ measure: 'balancesBesideMuch', value: ratio(MANY_EVENTS, 'answersPerS'), on }),
  ]
}
