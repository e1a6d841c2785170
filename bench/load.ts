import { setTimeout as sleep } from 'node:timers/promises'
import { formatTable } from '../shared/text/format-table.ts'
import { cpuSecondsOf } from './cpu-time.ts'
import { openLoadStage, type LoadOptions, type LoadRun, type LoadStage } from './load-stage.ts'
import { measureLoader } from './loader-alone.ts'
import { describeMachine, saveResult } from './machine.ts'
import { median } from './median.ts'
import { memoryOf, watchMemory, type Memory } from './memory.ts'
import { grownBy, rollupCountersOf } from './rollup-counters.ts'
import { compare, formatCompared, type Compared } from './targets.ts'

export interface BenchLoadOptions {
  /** How long each run takes. */
  seconds: number
  /** Events a second; as many as are taken unless it is given. */
  rate: number | undefined
  /** Events in a hundred that are minutes to hours late. */
  latePercent: number
  /** Requests in a hundred that are sent again. */
  resentPercent: number
  save: string
  print: (line: string) => void
}

interface Row extends LoadRun {
  name: string
  memory: Memory
  /** CPU time of Tally and its PostgreSQL an event, until it was loaded, in microseconds. */
  cpuMicros: number
}

/** What rollups read for what was loaded. */
interface RollupWork {
  rowsReadAnEvent: number
  slotsClosed: number
  marks: number
}

const REST_MS = 10_000
const PACED_PER_S = 25_000
/**
 * Of late and repeated events and of none in turn, and whichever came last begins the next. So many short ones, and the
 * median of their ratios, as the machine's speed drifts by a fifth within a minute, and a merge of a large part falls
 * into one run or another and takes up to half of the machine meanwhile: six pairs, three times as long, gave 0.79 to
 * 1.00 on one code (docs/performance.md).
 */
const ROUNDS = 12
/** How many of them last as long as a run by itself. */
const ROUNDS_A_RUN = 3
/** So long late usage gathers before it is worked off (ROLLUP_LATE_AFTER_S): it comes in before it is measured, too. */
const GATHERS_S = 10
/** … and what is left of it is worked off before the next run. */
const LATE_ENDED_MS = 15_000

/**
 * Reports usage to a Tally in one process until it takes no more, and waits until all is loaded: what could go on for
 * ever is what was loaded in that time. At the end every balance must be exact. When some is to be late or sent again,
 * runs with and without that are made in turn.
 */
export async function benchLoad(options: BenchLoadOptions): Promise<void> {
  const { seconds, rate, latePercent, resentPercent, save, print } = options
  print(describeMachine())
  const stage = await openLoadStage()
  const rows: Row[] = []
  let atRest: Memory
  let rollups: RollupWork
  try {
    await sleep(REST_MS)
    atRest = await memoryOf(stage.tally.process.pid ?? 0)
    const before = await stage.scrape()
    const run = async (name: string, load: LoadOptions) => {
      rows.push(await runWatched(stage, name, load))
    }
    await run(PACED, { seconds, rate: PACED_PER_S })
    const isMixed = latePercent > 0 || resentPercent > 0
    const times = { kind: 'now', latePercent } as const
    const each = isMixed ? seconds / ROUNDS_A_RUN : seconds
    const mixed: LoadOptions = { seconds: each, rate, times, resentPercent }
    const runMixed = async () => {
      await stage.run({ ...mixed, seconds: GATHERS_S })
      await run(MIXED, mixed)
      await sleep(LATE_ENDED_MS)
    }
    for (let round = 0; round < (isMixed ? ROUNDS : 1); round++) {
      const isOdd = round % 2 === 1
      if (isMixed && isOdd) await runMixed()
      await run(PLAIN, { seconds: each, rate })
      if (isMixed && !isOdd) await runMixed()
    }
    print(`${await stage.requireExact()} balances are exactly what was acknowledged`)
    rollups = rollupWork(before, await stage.scrape(), rows)
  } finally {
    await stage.close()
  }
  const loaderPerS = await measureLoader(seconds)
  const compared = compareRows(rows, atRest, loaderPerS)
  for (const line of formatRows(rows)) print(line)
  print(
    `rollups read ${rollups.rowsReadAnEvent.toFixed(2)} rows for each event; they closed ${rollups.slotsClosed} time slots` +
      ` and worked off ${rollups.marks} marks of late usage`,
  )
  for (const line of formatCompared(compared)) print(line)
  await saveResult(save, {
    bench: 'load',
    seconds,
    rate,
    latePercent,
    resentPercent,
    rows,
    atRest,
    rollups,
    compared,
  })
}

const PACED = '25,000 events/s'
const PLAIN = 'as they come'
const MIXED = 'some late or repeated'

async function runWatched(stage: LoadStage, name: string, load: LoadOptions): Promise<Row> {
  const pid = stage.tally.process.pid ?? 0
  const watched = watchMemory(pid)
  try {
    const before = await cpuSecondsOf(pid)
    const run = await stage.run(load)
    const after = await cpuSecondsOf(pid)
    const cpuS = after.self + after.children - before.self - before.children
    return { name, ...run, memory: watched.stop(), cpuMicros: (cpuS / run.events) * 1e6 }
  } finally {
    watched.stop()
  }
}

function rollupWork(
  before: Awaited<ReturnType<LoadStage['scrape']>>,
  after: typeof before,
  rows: readonly Row[],
): RollupWork {
  const { rowsRead, slotsClosed, lateMarks } = grownBy(rollupCountersOf(before), rollupCountersOf(after))
  const events = rows.reduce((sum, row) => sum + row.events, 0)
  return {
    rowsReadAnEvent: rowsRead / events,
    slotsClosed,
    marks: lateMarks,
  }
}

function compareRows(rows: readonly Row[], atRest: Memory, loaderPerS: number): Compared[] {
  const named = (wanted: string) => rows.filter(({ name }) => name === wanted)
  const overall = (name: string, of: (row: Row) => number) =>
    named(name).reduce((sum, row) => sum + of(row), 0) / named(name).length
  const ofRounds = (of: (row: Row) => number) =>
    median(
      named(MIXED).map((mixed, round) => {
        const plain = named(PLAIN)[round]
        return plain === undefined ? NaN : of(mixed) / of(plain)
      }),
    )
  const ofMeans = (of: (row: Row) => number) => overall(MIXED, of) / overall(PLAIN, of)
  const [paced] = named(PACED)
  const total = (memory: Memory | undefined) => (memory?.self ?? NaN) + (memory?.children ?? NaN)
  return [
    compare({
      measure: 'sustained',
      value: overall(PLAIN, ({ sustainedPerS }) => sustainedPerS),
      on: named(PLAIN).length > 1 ? `mean of ${named(PLAIN).length} runs` : '',
    }),
    ...(named(MIXED).length > 0
      ? [
          compare({
            measure: 'lateAndTwice',
            value: ofRounds(({ sustainedPerS }) => sustainedPerS),
            on: `median; ${ofMeans(({ sustainedPerS }) => sustainedPerS).toFixed(2)} by means, CPU ${ofRounds(({ cpuMicros }) => cpuMicros).toFixed(2)}`,
          }),
        ]
      : []),
    compare({ measure: 'loader', value: loaderPerS }),
    compare({ measure: 'memoryAtRest', value: total(atRest) }),
    compare({
      measure: 'memoryLoaded',
      value: total(paced?.memory),
      on: `${Math.round(paced?.acceptedPerS ?? NaN).toLocaleString('en-US')} events/s`,
    }),
  ]
}

function formatRows(rows: readonly Row[]): string[] {
  const whole = (value: number) => Math.round(value).toLocaleString('en-US')
  const cells = rows.map((row) => [
    row.name,
    whole(row.events),
    whole(row.resent),
    whole(row.acceptedPerS),
    whole(row.sustainedPerS),
    row.drainS.toFixed(1),
    row.p50Ms.toFixed(0),
    row.p99Ms.toFixed(0),
    row.cpuMicros.toFixed(1),
    row.memory.self.toFixed(2),
    row.memory.children.toFixed(2),
  ])
  const headings = [
    '',
    'events',
    'sent again',
    'accepted/s',
    'sustained/s',
    'drain s',
    'p50 ms',
    'p99 ms',
    'CPU µs/event',
    'Tally GB',
    'PostgreSQL GB',
  ]
  return formatTable(headings, cells, 1)
}
