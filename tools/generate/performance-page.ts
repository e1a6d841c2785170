import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Compared } from '../../bench/targets.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { pageMaker, type Table } from './page.ts'

/** The stored results of each bench, which are files of bench/results. If a bench has several, the newest counts. */
const RESULTS = {
  all: ['all', 'all-later'],
  ingest: ['all-ingest'],
  load: ['all-load', 'load-late'],
  freshness: ['all-freshness'],
  query: ['all-scale-query-100000000'],
  scale: ['all-scale'],
  storage: ['all-storage'],
  rollups: ['rollups'],
  balances: ['balances'],
  previews: ['previews-100M'],
  close: ['close-100M'],
  simulations: ['simulations-100M'],
  neighbours: ['neighbours'],
  analysts: ['analysts-10M'],
} as const
type Bench = keyof typeof RESULTS

const fileOf = (name: string) => `bench/results/${name}.json`

/** The fields that bench/machine.ts writes into each result. */
interface Result {
  at: string
  machine: string
  loadAverage?: number
  commit: string
  compared: readonly Compared[]
}

interface Took {
  p50Ms: number
  p99Ms: number
}

interface IngestRow extends Took {
  name: string
  connections: number
  server: string
  eventsPerSecond: number
  cpuMicros: number
}

interface LoadRow {
  name: string
  acceptedPerS: number
  sustainedPerS: number
  /** In GB. */
  memory: Record<'self' | 'children', number>
  cpuMicros: number
}

interface BalanceRow extends Took {
  answersPerS: number
  beside: string
  connections: number
  kind: string
  cpuMs: number
}

/** The figures of each bench in the tables, besides those with a floor or target. */
interface Details {
  all: unknown
  ingest: { rows: readonly IngestRow[] }
  load: { rows: readonly LoadRow[] }
  freshness: { rate: number; visible: Took }
  query: { rows: readonly ({ name: string } & Took)[] }
  scale: unknown
  storage: { tables: readonly { table: string; rows: number; bytesAnEvent: number }[] }
  rollups: unknown
  balances: { rows: readonly BalanceRow[] }
  previews: unknown
  close: unknown
  simulations: unknown
  neighbours: {
    rows: readonly {
      beside: string
      answers: Record<'report' | 'balance' | 'account', Took>
    }[]
  }
  analysts: { summed: readonly ({ beside: string } & Took)[] }
}
type Results = { [B in Bench]: Result & Details[B] }

export const performancePage = pageMaker({
  name: 'performance.md',
  sources: [...Object.values(RESULTS).flat().map(fileOf), 'tools/generate/performance-page.ts'],
  tables: async () => {
    const entries = Object.entries(RESULTS).map(async ([bench, names]) => [bench, await newestOf(names)])
    const results = Object.fromEntries(await Promise.all(entries)) as Results
    return {
      runs: runsTable(results),
      machines: machinesTable(results),
      ...detailTables(results),
      ...comparedTables(results),
    }
  },
})

async function newestOf(names: readonly string[]): Promise<Result> {
  const read = names.map(
    async (name) => JSON.parse(await readFile(path.join(PROJECT_ROOT, fileOf(name)), 'utf8')) as Result,
  )
  const [newest] = (await Promise.all(read)).sort((a, b) => b.at.localeCompare(a.at))
  if (newest === undefined) throw new RangeError('a bench has no results')
  return newest
}

function runsTable(results: Results): Table {
  const rows = Object.entries(results).map(([bench, { at, loadAverage, commit }]) => {
    const [hash = '', changed] = commit.split(', ')
    const on = `\`${hash.slice(0, 8)}\`${changed === undefined ? '' : ', changed'}`
    return [`\`${bench}\``, at.slice(0, 10), on, loadAverage?.toFixed(1) ?? '']
  })
  return [['Bench', 'Measured', 'Commit', 'Load'], ...rows]
}

/** Returns a row for each machine, because results may come from different machines. */
function machinesTable(results: Results): Table {
  const all = Object.entries(results)
  const machines = [...new Set(all.map(([, { machine }]) => machine))]
  const benchesOn = (machine: string) =>
    all.filter(([, result]) => result.machine === machine).map(([bench]) => `\`${bench}\``)
  const rows = machines.map((one) => [one, machines.length === 1 ? 'all' : benchesOn(one).join(', ')])
  return [['Machine', 'Benches'], ...rows]
}

function comparedTables(results: Results): Record<string, Table> {
  const benches = [
    'all',
    'rollups',
    'balances',
    'previews',
    'close',
    'simulations',
    'neighbours',
    'analysts',
  ] as const
  return Object.fromEntries(
    benches.map((bench) => [`${bench} compared`, comparedTable(results[bench].compared)]),
  )
}

const comparedTable = (compared: readonly Compared[]): Table => [
  ['', 'Measured', 'Floor, target', 'Meets'],
  ...compared.map(({ name, on, unit, value, floor, target, verdict }) => [
    on === 'Tally, Kafka' ? `${name}, log on Kafka` : name,
    `${shown(value)} ${unit}`.trim(),
    `${shown(floor)}, ${shown(target)}`,
    verdict.replace(' met', ''),
  ]),
]

function detailTables(results: Results): Record<string, Table> {
  const { ingest, load, freshness, query, storage, balances } = results
  return {
    ingest: ingestTable(ingest.rows),
    load: loadTable(load.rows),
    freshness: [
      ['Events/s', 'p50, ms', 'p99, ms'],
      [shown(freshness.rate), ...took(freshness.visible)],
    ],
    query: namedTable(query.rows.filter(({ name }) => !/alone|SELECT|largest|median/.test(name))),
    storage: tablesTable(storage.tables),
    balances: balancesTable(balances.rows),
    neighbours: neighboursTable(results.neighbours.rows),
    analysts: besideTable(results.analysts.summed),
  }
}

const namedTable = (rows: readonly ({ name: string } & Took)[]): Table => [
  ['', 'p50, ms', 'p99, ms'],
  ...rows.map((row) => [row.name, ...took(row)]),
]

/** Returns a row for each kind of body and log, with the rate of a bare handler for the same bodies in the same run. */
function ingestTable(rows: readonly IngestRow[]): Table {
  const table = rows.flatMap((row, at) => {
    const bare = rows[at + 1]
    if (row.server === 'bare Express' || bare?.server !== 'bare Express') return []
    const log = row.server === 'Tally, Kafka' ? 'Kafka' : 'embedded'
    const { name, connections, eventsPerSecond, cpuMicros } = row
    return [
      [
        ...[name, log, shown(connections), shown(eventsPerSecond), ...took(row), shown(cpuMicros)],
        shown(bare.eventsPerSecond),
      ],
    ]
  })
  const head = [
    'Sent',
    'Log',
    'Connections',
    'Events/s',
    'p50, ms',
    'p99, ms',
    'CPU µs/event',
    'Bare Express',
  ]
  return [head, ...table]
}

/** Returns a row for each kind of run, with the minimum and the maximum of its runs. */
function loadTable(rows: readonly LoadRow[]): Table {
  const table = [...new Set(rows.map(({ name }) => name))].map((name) => {
    const runs = rows.filter((row) => row.name === name)
    return [
      name,
      shown(runs.length),
      range(runs.map(({ acceptedPerS }) => acceptedPerS)),
      range(runs.map(({ sustainedPerS }) => sustainedPerS)),
      range(runs.map(({ cpuMicros }) => cpuMicros)),
      range(runs.map(({ memory }) => memory.self + memory.children)),
    ]
  })
  return [['Usage', 'Runs', 'Taken, events/s', 'Loaded in that time', 'CPU µs/event', 'Memory, GB'], ...table]
}

/** Parts with fewer bytes an event than this are not shown. */
const SMALL_BYTES = 0.05

const tablesTable = (tables: Details['storage']['tables']): Table => [
  ['Table', 'Rows, million', 'Bytes an event'],
  ...tables
    .filter(({ bytesAnEvent }) => bytesAnEvent >= SMALL_BYTES)
    .map(({ table, rows, bytesAnEvent }) => [`\`${table}\``, shown(rows / 1e6), shown(bytesAnEvent)]),
]

/** The number of connections for which the table shows balances during other work. */
const MANY = 64

function balancesTable(rows: readonly BalanceRow[]): Table {
  const table = rows.flatMap((row) => {
    const { beside, connections, kind, answersPerS, cpuMs } = row
    const account = rows.find(
      (other) => other.beside === beside && other.connections === connections && other.kind === 'account',
    )
    const isShown = beside === 'nothing' || connections === MANY
    if (kind !== 'balance' || !isShown || account === undefined) return []
    return [
      [
        ...[beside, shown(connections), shown(answersPerS), ...took(row), shown(cpuMs)],
        shown(account.answersPerS),
      ],
    ]
  })
  const head = ['Beside', 'Connections', 'Balances/s', 'p50, ms', 'p99, ms', 'CPU, ms', 'Accounts/s']
  return [head, ...table]
}

const neighboursTable = (rows: Details['neighbours']['rows']): Table => [
  ['Beside', 'Report', 'Balance', 'Account'],
  ...rows.map(({ beside, answers: { report, balance, account } }) => [
    beside === 'alone' ? 'nothing' : beside,
    ...[report, balance, account].map(({ p99Ms }) => shown(p99Ms)),
  ]),
]

const besideTable = (rows: Details['analysts']['summed']): Table => [
  ['Beside', 'p50, ms', 'p99, ms'],
  ...rows.map((row) => [row.beside, ...took(row)]),
]

const took = ({ p50Ms, p99Ms }: Took): string[] => [shown(p50Ms), shown(p99Ms)]

function range(values: readonly number[]): string {
  const [least, most] = [shown(Math.min(...values)), shown(Math.max(...values))]
  return least === most ? least : `${least} to ${most}`
}

/** Formats a number: a whole number unchanged, others with at least three digits: 0.85, 5.94, 95.0, 35,213. */
function shown(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en-US')
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
