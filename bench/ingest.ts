import { rm } from 'node:fs/promises'
import path from 'node:path'
import { startTally, type RunningTally } from '../test/support/start-tally.ts'
import { startBareExpress } from './bare-express.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { cpuSecondsOf } from './cpu-time.ts'
import { load, type LoadResult } from './load.ts'
import { describeMachine, saveResult } from './machine.ts'
import { settledCount } from './settled-count.ts'
import { makeBodies, makeReferences, type References } from './usage-bodies.ts'

export interface BenchIngestOptions {
  /** How long each measurement takes, after a warm-up. */
  seconds: number
  /** Where to write the results as JSON. */
  save: string | undefined
  print: (line: string) => void
}

interface Shape {
  name: string
  /** Events in one request. */
  batch: number
  connections: number
}

/** One row of the table. */
interface Row extends Shape, LoadResult {
  server: 'Tally' | 'bare Express'
  eventsPerSecond: number
  /** CPU time of the server's process an event, in microseconds. */
  cpuMicros: number
  /** The same of Tally's PostgreSQL. */
  postgresCpuMicros: number
}

/** A row, and what the whole of its measurement sent. */
interface Measured {
  row: Row
  /** Events, those of the warm-up included. */
  acknowledged: number
  /** The most events whose answer was not waited for: each connection has one request under way when a load ends. */
  inFlight: number
}

const SHAPES: readonly Shape[] = [
  { name: 'single events', batch: 1, connections: 64 },
  { name: 'batches of 100', batch: 100, connections: 16 },
  { name: 'batches of 1,000', batch: 1_000, connections: 8 },
]
const WARM_UP_S = 2
const ROUNDS = 2
/** The warm-up, and what is measured. */
const LOADS = 2
const COUNT_EVERY_MS = 500
const COUNT_WITHIN_MS = 120_000

/**
 * Reports usage as fast as the server takes it. Each shape is measured on Tally and on a bare Express handler in turn, so
 * that their ratio holds when the machine's speed drifts. Every answer of Tally is a 202: the events are durable. At the
 * end all of them must be counted.
 */
export async function benchIngest({ seconds, save, print }: BenchIngestOptions): Promise<void> {
  const tally = await startTally({ env: { LOG_LEVEL: 'error' } })
  const bare = await startBareExpress()
  try {
    const references = await makeReferences(tally)
    const rows: Row[] = []
    let acknowledged = 0
    let inFlight = 0
    print(`${describeMachine()}; each figure the better of ${ROUNDS} rounds of ${seconds} s`)
    for (const shape of SHAPES) {
      const bodies = makeBodies(references, shape.batch)
      const measured: Row[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const bareRun = await measure('bare Express', bare.url, bare.pid, undefined, shape, bodies, seconds)
        const { pid = 0 } = tally.process
        const tallyRun = await measure('Tally', tally.url, pid, tally.key, shape, bodies, seconds)
        measured.push(bareRun.row, tallyRun.row)
        acknowledged += tallyRun.acknowledged
        inFlight += tallyRun.inFlight
      }
      rows.push(bestOf(measured, 'Tally'), bestOf(measured, 'bare Express'))
    }
    for (const line of formatRows(rows)) print(line)
    const counted = await settledCount(() => countAll(tally, references), {
      atLeast: acknowledged,
      atMost: acknowledged + inFlight,
      pauseMs: COUNT_EVERY_MS,
      timeoutMs: COUNT_WITHIN_MS,
    })
    print(
      `acknowledged ${acknowledged} events, up to ${inFlight} more were in flight when a round ended; counted ${counted}`,
    )
    if (save !== undefined) await saveResult(save, { bench: 'ingest', seconds, rows })
  } finally {
    await bare.close()
    await tally.stop()
    await rm(path.dirname(tally.dataFolder), { recursive: true, force: true })
  }
}

async function measure(
  server: Row['server'],
  url: string,
  pid: number,
  key: string | undefined,
  shape: Shape,
  bodies: readonly Buffer[],
  seconds: number,
): Promise<Measured> {
  const target = `${url}/v2/events${shape.batch === 1 ? '' : '/batch'}`
  const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { 'x-api-key': key }) }
  const options = { url: target, headers, bodies, connections: shape.connections }
  const warmUp = await load({ ...options, seconds: WARM_UP_S })
  const before = await cpuSecondsOf(pid)
  const result = await load({ ...options, seconds })
  const after = await cpuSecondsOf(pid)
  const events = result.acknowledged * shape.batch
  const row = {
    ...shape,
    ...result,
    server,
    eventsPerSecond: events / result.seconds,
    cpuMicros: ((after.self - before.self) / events) * 1e6,
    postgresCpuMicros: ((after.children - before.children) / events) * 1e6,
  }
  return {
    row,
    acknowledged: events + warmUp.acknowledged * shape.batch,
    inFlight: LOADS * shape.connections * shape.batch,
  }
}

function bestOf(rows: readonly Row[], server: Row['server']): Row {
  const [best] = rows
    .filter((row) => row.server === server)
    .sort((a, b) => b.eventsPerSecond - a.eventsPerSecond)
  if (best === undefined) throw new Error(`nothing was measured on ${server}`)
  return best
}

function formatRows(rows: readonly Row[]): string[] {
  const headings = [
    '',
    'server',
    'connections',
    'events/s',
    'p50 ms',
    'p99 ms',
    'CPU µs/event',
    'PostgreSQL µs/event',
    'of bare',
  ]
  const cells = rows.map((row) => {
    const bare = rows.find((other) => other.name === row.name && other.server === 'bare Express')
    return [
      row.name,
      row.server,
      String(row.connections),
      Math.round(row.eventsPerSecond).toLocaleString('en-US'),
      row.p50Ms.toFixed(1),
      row.p99Ms.toFixed(1),
      row.cpuMicros.toFixed(1),
      row.server === 'Tally' ? row.postgresCpuMicros.toFixed(1) : '',
      row.server === 'Tally' ? (row.eventsPerSecond / (bare?.eventsPerSecond ?? NaN)).toFixed(2) : '',
    ]
  })
  return formatTable(headings, cells, 2)
}

async function countAll(tally: RunningTally, { accounts }: References): Promise<number> {
  const counts = await Promise.all(accounts.map((account) => countOf(tally, account)))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function countOf({ url, key }: RunningTally, account: string): Promise<number> {
  const target = `${url}/v2/accounts/${account}/usage?start_at=0&end_at=4294967295&aggregation=count`
  const response = await fetch(target, { headers: { 'x-api-key': key } })
  const { events_consumed: lines } = (await response.json()) as { events_consumed: { quantity: string }[] }
  return lines.reduce((sum, { quantity }) => sum + Number(quantity), 0)
}
