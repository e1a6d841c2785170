import { setTimeout as sleep } from 'node:timers/promises'
import { formatTable } from '../shared/text/format-table.ts'
import { cpuSecondsOf } from './cpu-time.ts'
import { type LoadOptions, type LoadRun, type LoadStage, openLoadStage } from './load-stage.ts'
import { measureLoader } from './loader-alone.ts'
import { describeMachine, saveResult } from './machine.ts'
import { median } from './median.ts'
import { type Memory, memoryOf, watchMemory } from './memory.ts'
import { rollupCountersOf } from './rollup-counters.ts'
import { compare, type Compared, formatCompared } from './targets.ts'

export interface BenchLoadOptions {
  /** The duration of each run. */
  seconds: number
  /** Events a second; default: as many as Tally accepts. */
  rate: number | undefined
  /** The percentage of events that are minutes to hours late. */
  latePercent: number
  /** The percentage of requests that are sent again. */
  resentPercent: number
  save: string
  print: (line: string) => void
}

interface Row extends LoadRun {
  name: string
  memory: Memory
  /** CPU time per event of Tally and its PostgreSQL, until the event was loaded, in microseconds. */
  cpuMicros: number
}

/** The work on rollups of a Tally since its start. */
interface RollupWork {
  /** Rows read for each loaded row, including rows of events that were sent again. */
  rowsReadEach: number
  slotsClosed: number
  /** Inserts of late usage whose marks were processed. */
  lateInserts: number
}

const REST_MS = 10_000
const PACED_PER_S = 25_000
/**
 * The number of pairs of runs. Runs with and without late and repeated events alternate, and the last run of a pair is
 * the first of the next. Many short runs are needed, because the machine's speed changes by a fifth within a minute.
 */
const PAIRS = 10
/** A run of a pair is shorter than a single run by this factor. */
const SHORTER = 2
/**
 * Late usage waits for this long before it is processed (ROLLUP_LATE_AFTER_S). Late usage is sent for the same time
 * before the measurement.
 */
const GATHERS_S = 10
/** In this time before the next run, most of the late usage is processed. */
const LATE_ENDED_MS = 15_000

/**
 * Reports usage to a Tally in one process as fast as it accepts usage, and waits until all of it is loaded. Tally can
 * sustain the rate over the whole time. At the end every balance must be exact.
 *
 * Late and repeated events go to a second Tally; runs of the two alternate. In a single Tally, the merges of one run
 * would slow the next one (docs/experiments.md). With two, a merge that outlasts the pause still slows the next run,
 * but its CPU time is not counted for the Tally of that run.
 */
export async function benchLoad(options: BenchLoadOptions): Promise<void> {
  const { seconds, rate, latePercent, resentPercent, save, print } = options
  print(describeMachine())
  const isMixed = latePercent > 0 || resentPercent > 0
  const rows: Row[] = []
  const measure = async (name: string, stage: LoadStage, load: LoadOptions) => {
    rows.push(await runWatched(stage, name, load))
  }
  /** @returns the work on its rollups */
  const endOf = async (stage: LoadStage): Promise<RollupWork> => {
    print(`${await stage.requireExact()} balances are exactly what was acknowledged`)
    return rollupWork(await stage.scrape())
  }
  const plain = await openLoadStage()
  let atRest: Memory
  const rollups: Record<string, RollupWork> = {}
  let lateRowsBesidePlain = 0
  try {
    await sleep(REST_MS)
    atRest = await memoryOf(plain.tally.process.pid ?? 0)
    await measure(PACED, plain, { seconds, rate: PACED_PER_S })
    if (isMixed) {
      const mixed = await openLoadStage()
      const rowsRead = async () => rollupCountersOf(await mixed.scrape()).rowsRead
      try {
        await mixed.run({ seconds, rate: PACED_PER_S })
        const kinds = [
          { name: PLAIN, stage: plain, load: { rate } },
          { name: MIXED, stage: mixed, load: { rate, times: { kind: 'now', latePercent }, resentPercent } },
        ] as const
        for (let pair = 0; pair < PAIRS; pair++)
          for (const { name, stage, load } of pair % 2 === 0 ? kinds : kinds.toReversed()) {
            const before = await rowsRead()
            await stage.run({ ...load, seconds: GATHERS_S })
            await measure(name, stage, { ...load, seconds: seconds / SHORTER })
            if (stage === plain) lateRowsBesidePlain += (await rowsRead()) - before
            await sleep(LATE_ENDED_MS)
          }
        rollups[MIXED] = await endOf(mixed)
      } finally {
        await mixed.close()
      }
    } else await measure(PLAIN, plain, { seconds, rate })
    rollups[PLAIN] = await endOf(plain)
  } finally {
    await plain.close()
  }
  const loaderPerS = await measureLoader(seconds)
  const compared = compareRows(rows, atRest, loaderPerS)
  for (const line of formatRows(rows)) print(line)
  for (const [name, { rowsReadEach, slotsClosed, lateInserts }] of Object.entries(rollups))
    print(
      `${name}: rollups read ${rowsReadEach.toFixed(2)} rows for each that was loaded; they closed ${slotsClosed} time slots` +
        ` and worked off ${lateInserts} inserts of late usage`,
    )
  if (isMixed)
    print(`rollups of the Tally with such events read ${lateRowsBesidePlain} rows beside runs without`)
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
    lateRowsBesidePlain,
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

function rollupWork(scraped: Awaited<ReturnType<LoadStage['scrape']>>): RollupWork {
  const { rowsRead, loaded, slotsClosed, lateMarks } = rollupCountersOf(scraped)
  return { rowsReadEach: rowsRead / loaded, slotsClosed, lateInserts: lateMarks }
}

function compareRows(rows: readonly Row[], atRest: Memory, loaderPerS: number): Compared[] {
  const named = (wanted: string) => rows.filter(({ name }) => name === wanted)
  const overall = (name: string, of: (row: Row) => number) =>
    named(name).reduce((sum, row) => sum + of(row), 0) / named(name).length
  const ofPairs = (of: (row: Row) => number) =>
    median(
      named(MIXED).map((mixed, nth) => {
        const plain = named(PLAIN)[nth]
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
      on: named(PLAIN).length > 1 ? `mean of ${named(PLAIN).length} runs, beside an idle Tally` : '',
    }),
    ...(named(MIXED).length > 0
      ? [
          compare({
            measure: 'lateAndTwice',
            value: ofPairs(({ sustainedPerS }) => sustainedPerS),
            on: `median; ${ofMeans(({ sustainedPerS }) => sustainedPerS).toFixed(2)} by means, CPU ${ofPairs(({ cpuMicros }) => cpuMicros).toFixed(2)}`,
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
