import { formatTable } from '../shared/text/format-table.ts'
import { startBareExpress } from './bare-express.ts'
import { cpuSecondsOf } from './cpu-time.ts'
import { type LoadGenerator, startLoadGenerator } from './load-generator.ts'
import { describeMachine, saveResult } from './machine.ts'
import type { LoadResult } from './send-load.ts'
import { settledCount } from './settled-count.ts'
import { embeddedSubject, kafkaSubject, type Subject } from './subjects.ts'
import { compare, type Compared, formatCompared, type Measure } from './targets.ts'
import { makeBodies, makeCloudEvents, makeReferences, type References } from './usage-bodies.ts'

export interface BenchIngestOptions {
  /** How long each measurement takes, after a warm-up. */
  seconds: number
  /** The event logs to measure with, in turn. */
  logs: readonly (keyof typeof SUBJECTS)[]
  /** The file for the results, as JSON. */
  save: string
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
  server: string
  eventsPerSecond: number
  /** CPU time per event of the server's process, in microseconds. */
  cpuMicros: number
  /** CPU time per event of the process with the event log (PostgreSQL or the broker), in microseconds. */
  logCpuMicros: number
  /** Events a second, divided by those of the bare handler; the two are measured in turn. */
  ofBare?: number
  /** For CloudEvents: events a second, divided by those of Tally's own form. */
  ofNative?: number
  /** CPU time per event of the load generator, which shares the machine, in microseconds. */
  generatorCpuMicros: number
}

/** A server that is measured. */
interface Server {
  name: string
  url: string
  pid: number
  key?: string
  logCpuSeconds: () => Promise<number>
}

/** A server, and what is sent to it. */
interface Contender extends Server {
  bodies: readonly Buffer[]
  contentType: string
}

/** A row, and the number of events that were acknowledged in its whole measurement, including the warm-up. */
interface Measured {
  row: Row
  acknowledged: number
}

/** All events of a subject, including those of warm-ups. */
interface Counts {
  server: string
  acknowledged: number
  counted: number
}

const SUBJECTS = { embedded: embeddedSubject, kafka: kafkaSubject }
/** The event logs that can be measured. */
export const LOGS = Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]
const BARE = 'bare Express'
const SHAPES: readonly Shape[] = [
  { name: 'single events', batch: 1, connections: 64 },
  { name: 'batches of 100', batch: 100, connections: 16 },
  { name: 'batches of 1,000', batch: 1_000, connections: 8 },
]
const WARM_UP_S = 2
const ROUNDS = 2
const COUNT_EVERY_MS = 500
const COUNT_WITHIN_MS = 120_000

/**
 * Reports usage as fast as the server accepts it. Each shape is measured in turn on Tally and on a bare Express
 * handler, so that their ratio holds when the machine's speed changes. Tally must answer each request with 202, which
 * means that the events are durable. At the end exactly these events must be counted.
 */
export async function benchIngest({ seconds, logs, save, print }: BenchIngestOptions): Promise<void> {
  print(`${describeMachine()}; each figure the better of ${ROUNDS} rounds of ${seconds} s`)
  const rows: Row[] = []
  const counts: Counts[] = []
  for (const log of logs) {
    const measured = await benchSubject(SUBJECTS[log], seconds, print)
    rows.push(...measured.rows)
    counts.push(measured.counts)
  }
  const compared = compareRows(rows)
  for (const line of formatRows(rows)) print(line)
  for (const line of formatCompared(compared)) print(line)
  // The result omits the count of each body, because nobody reads it.
  const kept = rows.map((row) => ({ ...row, ofBody: undefined }))
  await saveResult(save, { bench: 'ingest', seconds, rows: kept, counts, compared })
}

async function benchSubject(
  start: () => Promise<Subject>,
  seconds: number,
  print: BenchIngestOptions['print'],
): Promise<{ rows: Row[]; counts: Counts }> {
  const subject = await start()
  const bare = await startBareExpress()
  const generator = startLoadGenerator()
  try {
    const bareServer = { name: BARE, url: bare.url, pid: bare.pid, logCpuSeconds: () => Promise.resolve(0) }
    const references = await makeReferences({ url: subject.apiUrl, key: subject.key })
    const rows: Row[] = []
    let acknowledged = 0
    for (const shape of SHAPES) {
      const contenders = contendersOf(bareServer, subject, shape, references)
      const measured: Row[] = []
      for (let round = 0; round < ROUNDS; round++)
        for (const contender of contenders) {
          const run = await measure(generator, contender, shape, seconds)
          measured.push(run.row)
          if (contender.name !== BARE) acknowledged += run.acknowledged
        }
      const [bareRow, row] = [bestOf(measured, BARE), bestOf(measured, subject.name)]
      rows.push({ ...row, ofBare: row.eventsPerSecond / bareRow.eventsPerSecond }, bareRow)
      for (const { name } of contenders.slice(2)) {
        const other = bestOf(measured, name)
        rows.push({ ...other, ofNative: other.eventsPerSecond / row.eventsPerSecond })
      }
    }
    await subject.startLoading()
    const counted = await settledCount(() => countAll(subject, references), {
      expected: acknowledged,
      pauseMs: COUNT_EVERY_MS,
      timeoutMs: COUNT_WITHIN_MS,
    })
    print(`${subject.name}: acknowledged ${acknowledged} events, counted ${counted}`)
    return { rows, counts: { server: subject.name, acknowledged, counted } }
  } finally {
    await generator.close()
    await bare.close()
    await subject.stop()
  }
}

/** The bare handler and Tally get the same bodies. Tally gets batches of CloudEvents, too. */
function contendersOf(bare: Server, subject: Server, { batch }: Shape, references: References): Contender[] {
  const bodies = makeBodies(references, batch).map(({ bytes }) => bytes)
  const contentType = 'application/json'
  const native = [bare, subject].map((server) => ({ ...server, bodies, contentType }))
  if (batch === 1) return native
  return [
    ...native,
    {
      ...subject,
      name: `${subject.name}, CloudEvents`,
      bodies: makeCloudEvents(references, batch),
      contentType: 'application/cloudevents-batch+json',
    },
  ]
}

async function measure(
  generator: LoadGenerator,
  server: Contender,
  shape: Shape,
  seconds: number,
): Promise<Measured> {
  const { key, bodies, contentType } = server
  const load = {
    url: `${server.url}/v2/events${shape.batch === 1 ? '' : '/batch'}`,
    headers: { 'content-type': contentType, ...(key === undefined ? {} : { 'x-api-key': key }) },
    bodies,
    connections: shape.connections,
  }
  const cpuTimes = async () => {
    const [own, generating] = await Promise.all([server.pid, generator.pid].map(cpuSecondsOf))
    return { own: own?.self ?? 0, generating: generating?.self ?? 0, log: await server.logCpuSeconds() }
  }
  const warmUp = await generator.load({ ...load, seconds: WARM_UP_S })
  const before = await cpuTimes()
  const result = await generator.load({ ...load, seconds })
  const after = await cpuTimes()
  const events = result.acknowledged * shape.batch
  const microsOf = (whose: keyof typeof after) => ((after[whose] - before[whose]) / events) * 1e6
  const row = {
    ...shape,
    ...result,
    server: server.name,
    eventsPerSecond: events / result.seconds,
    cpuMicros: microsOf('own'),
    logCpuMicros: microsOf('log'),
    generatorCpuMicros: microsOf('generating'),
  }
  return { row, acknowledged: events + warmUp.acknowledged * shape.batch }
}

/** Compares each server's batches of 1,000 and single events with the targets. */
function compareRows(rows: readonly Row[]): Compared[] {
  const measures: Record<number, Measure> = { 1: 'gatewaySingles', 1_000: 'gatewayBatches' }
  return rows.flatMap((row) => {
    const measure = measures[row.batch]
    if (measure === undefined || row.ofBare === undefined) return []
    return [compare({ measure, value: row.eventsPerSecond, on: row.server })]
  })
}

function bestOf(rows: readonly Row[], server: string): Row {
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
    'log µs/event',
    'generator µs/event',
    'of bare',
    'of native',
  ]
  const cells = rows.map((row) => [
    row.name,
    row.server,
    String(row.connections),
    Math.round(row.eventsPerSecond).toLocaleString('en-US'),
    row.p50Ms.toFixed(1),
    row.p99Ms.toFixed(1),
    row.cpuMicros.toFixed(1),
    row.server === BARE ? '' : row.logCpuMicros.toFixed(1),
    row.generatorCpuMicros.toFixed(1),
    row.ofBare?.toFixed(2) ?? '',
    row.ofNative?.toFixed(2) ?? '',
  ])
  return formatTable(headings, cells, 2)
}

async function countAll(subject: Subject, { accounts }: References): Promise<number> {
  const counts = await Promise.all(accounts.map((account) => countOf(subject, account)))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function countOf({ apiUrl, key }: Subject, account: string): Promise<number> {
  const target = `${apiUrl}/v2/accounts/${account}/usage?start_at=0&end_at=4294967295&aggregation=count`
  const response = await fetch(target, { headers: { 'x-api-key': key } })
  const { events_consumed: lines } = (await response.json()) as { events_consumed: { quantity: string }[] }
  return lines.reduce((sum, { quantity }) => sum + Number(quantity), 0)
}
