import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { runCommand } from '../test/support/by-hand.ts'
import { type RunningTally, startTally } from '../test/support/start-tally.ts'
import { makeTempFolder } from '../test/support/temp-folder.ts'
import { buildDataSet } from './data-set/build-data-set.ts'
import type { DataSet } from './data-set/data-set.ts'
import { accountId, accountOfDraw, ACCOUNTS } from './data-set/made-up-events.ts'
import { type LoadGenerator, startLoadGenerator } from './load-generator.ts'
import { describeMachine, saveResult } from './machine.ts'
import { median } from './median.ts'
import { compare, formatCompared } from './targets.ts'
import { makeBodies } from './usage-bodies.ts'

export interface BenchAnalystsOptions {
  events: number
  /** The folder of the data set, which is made if it is missing. Usage and analysts are added to it. */
  folder: string
  /** The duration of each part. */
  seconds: number
  save: string
  print: (line: string) => void
}

const NOTHING = 'nothing'
const EXPORT = 'an export'
const TEN = 'ten heavy analysts'
/** What analysts do while balances are measured, part by part. */
const PARTS = [NOTHING, EXPORT, NOTHING, TEN] as const
type Beside = (typeof PARTS)[number]
const ROUNDS = 3

/** The answers to balances in one part. */
interface Row {
  beside: Beside
  p50Ms: number
  p99Ms: number
  /** What analysts were answered meanwhile, by ClickHouse's code, 0 for rows; of an export, by its exit code. */
  analysts: Record<string, number>
}

const HEAVY_ANALYSTS = 10
/** Rollups cannot help with it: it reads every event. */
const HEAVY_QUERY = `SELECT account_id, toStartOfMonth(occurred_at) AS month, sum(quantity), max(quantity), count()
  FROM events GROUP BY account_id, month ORDER BY sum(quantity) DESC LIMIT 100`
const BALANCES_PER_S = 50
const CONNECTIONS = 16
const PATHS = 5_000
/** Usage arrives all the time, so that balances are not read from a cache alone. */
const USAGE = { batch: 100, rate: 5 }
const USAGE_CONNECTIONS = 2
const WARM_UP_S = 5
/** The time for which analysts ask before balances are measured. */
const BEGUN_AFTER_MS = 2_000
/** A pause after each part, so that its work has ended. */
const REST_MS = 3_000

/** Measures balances at a steady rate, in turn beside nothing, an export, and ten analysts with heavy queries. */
export async function benchAnalysts(options: BenchAnalystsOptions): Promise<void> {
  const { events, folder, seconds, save, print } = options
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const tally = await startTally({ dataFolder: dataSet.folder, env: { LOG_LEVEL: 'fatal' } })
  const generators = { reader: startLoadGenerator(), reporter: startLoadGenerator() }
  try {
    const begin: Record<Beside, () => Analysts> = {
      [NOTHING]: () => ({ end: () => Promise.resolve({}) }),
      [EXPORT]: () => keepExporting(tally),
      [TEN]: await heavyAnalysts(tally),
    }
    await readBalances(tally, dataSet, generators, WARM_UP_S)
    const rows: Row[] = []
    for (let round = 0; round < ROUNDS; round++)
      for (const beside of PARTS) {
        const analysts = begin[beside]()
        await sleep(BEGUN_AFTER_MS)
        const { p50Ms, p99Ms } = await readBalances(tally, dataSet, generators, seconds)
        const row = { beside, p50Ms, p99Ms, analysts: await analysts.end() }
        rows.push(row)
        print(JSON.stringify(row))
        await sleep(REST_MS)
      }
    const summed = ([NOTHING, EXPORT, TEN] as const).map((beside) => summary(rows, beside))
    for (const line of formatSummed(summed)) print(line)
    const [alone, exporting, heavy] = summed.map(({ p99Ms }) => p99Ms)
    const on = `${events.toLocaleString('en-US')} events`
    const compared = [
      compare({ measure: 'balancesBesideExport', value: (exporting ?? NaN) / (alone ?? NaN), on }),
      compare({ measure: 'balancesBesideAnalysts', value: (heavy ?? NaN) / (alone ?? NaN), on }),
    ]
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'analysts', events, seconds, rows, summed, compared })
  } finally {
    await Promise.all([generators.reader.close(), generators.reporter.close()])
    await tally.stop()
  }
}

/** Analysts at work. */
interface Analysts {
  end(): Promise<Record<string, number>>
}

/** Exports all changes, again and again, in a separate process. */
function keepExporting({ analystUrl, dataFolder }: RunningTally): Analysts {
  const main = path.join(PROJECT_ROOT, 'dist/clients/analysts/export.main.js')
  const codes: Record<string, number> = {}
  let child: ChildProcess | undefined
  const over = new AbortController()
  const exporting = (async () => {
    while (!over.signal.aborted) {
      const folder = await makeTempFolder('bench-export')
      const words = ['--view', 'event_changes', '--format', 'parquet', '--url', analystUrl]
      child = spawn(process.execPath, [main, ...words, '--dir', path.join(folder, 'files')], {
        env: { ...process.env, DATA_DIR: dataFolder },
        stdio: 'ignore',
      })
      const [code] = (await once(child, 'exit')) as [number | null]
      codes[String(code)] = (codes[String(code)] ?? 0) + 1
      await rm(folder, { recursive: true, force: true })
    }
  })()
  return {
    async end() {
      over.abort()
      child?.kill('SIGINT')
      await exporting
      return codes
    },
  }
}

/** Adds analysts. @returns a function that has each ask one heavy query after the other */
async function heavyAnalysts(tally: RunningTally): Promise<() => Analysts> {
  const now = Date.now()
  const headers: { authorization: string }[] = []
  for (let n = 0; n < HEAVY_ANALYSTS; n++) {
    const { output } = await runCommand(tally.dataFolder, 'analysts', 'add', '--name', `heavy_${now}_${n}`)
    const password = /^password +(\S+)$/m.exec(output)?.[1]
    if (password === undefined) throw new Error(output)
    headers.push({ authorization: `Bearer ${password}` })
  }
  return () => {
    const answered: Record<string, number> = {}
    let isOver = false
    const asking = headers.map(async (own) => {
      while (!isOver) {
        const request = { method: 'POST', headers: own, body: HEAVY_QUERY }
        const answer = await fetch(tally.analystUrl, request).catch(() => undefined)
        await answer?.text()
        const code =
          answer?.headers.get('x-clickhouse-exception-code') ?? (answer?.ok === true ? '0' : 'none')
        answered[code] = (answered[code] ?? 0) + 1
      }
    })
    return {
      async end() {
        isOver = true
        await Promise.all(asking)
        return answered
      },
    }
  }
}

/** Reads balances at a steady rate, while usage of the same accounts arrives. */
async function readBalances(
  { url, key }: RunningTally,
  { metrics }: DataSet,
  { reader, reporter }: Record<'reader' | 'reporter', LoadGenerator>,
  seconds: number,
): Promise<{ p50Ms: number; p99Ms: number }> {
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  const balanceOf = (n: number) =>
    `/v2/accounts/${accountId(accountOfDraw(Math.random()))}/balance?metric_id=${metrics[n % metrics.length] ?? ''}`
  const accounts = Array.from({ length: ACCOUNTS }, (_, n) => accountId(n))
  const [balances] = await Promise.all([
    reader.load({
      url,
      headers,
      paths: Array.from({ length: PATHS }, (_, n) => balanceOf(n)),
      bodies: [],
      connections: CONNECTIONS,
      rate: BALANCES_PER_S,
      seconds,
    }),
    reporter.load({
      url: `${url}/v2/events/batch`,
      headers,
      bodies: makeBodies({ accounts, metrics: [...metrics] }, USAGE.batch, true).map(({ bytes }) => bytes),
      connections: USAGE_CONNECTIONS,
      rate: USAGE.rate,
      seconds,
    }),
  ])
  return balances
}

/** The medians of the parts beside one kind of work. */
const summary = (rows: readonly Row[], beside: Beside) => {
  const parts = rows.filter((row) => row.beside === beside)
  return {
    beside,
    p50Ms: median(parts.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(parts.map(({ p99Ms }) => p99Ms)),
  }
}

const formatSummed = (summed: readonly { beside: Beside; p50Ms: number; p99Ms: number }[]): string[] =>
  formatTable(
    ['beside', 'p50 ms', 'p99 ms'],
    summed.map(({ beside, p50Ms, p99Ms }) => [beside, p50Ms.toFixed(1), p99Ms.toFixed(1)]),
    1,
  )
