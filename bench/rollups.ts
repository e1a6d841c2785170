import { setTimeout as sleep } from 'node:timers/promises'
import { formatTable } from '../shared/text/format-table.ts'
import { type LoadStage, openLoadStage } from './load-stage.ts'
import { describeMachine, saveResult } from './machine.ts'
import { grownBy, type RollupCounters, rollupCountersOf } from './rollup-counters.ts'
import { compare, failWhenMissed, formatCompared } from './targets.ts'

export interface BenchRollupsOptions {
  /** The number of time slots to measure. */
  slots: number
  /** Events a second. */
  rate: number
  /** The percentage of events that are minutes to hours late. */
  latePercent: number
  save: string
  print: (line: string) => void
}

const SLOT_S = 300
/** This long after a slot was closed, its late usage is also processed. */
const SETTLES_MS = 60_000
const LOOK_EVERY_MS = 1_000

/**
 * Reports usage at a steady rate over the ends of several time slots, and counts the rows that rollups read and the
 * rows that were loaded. It counts from a fixed time after the first end to the same time after the last one.
 */
export async function benchRollups(options: BenchRollupsOptions): Promise<void> {
  const { slots, rate, latePercent, save, print } = options
  print(describeMachine())
  const stage = await openLoadStage()
  try {
    // The first slot is not a whole one. The others must end while usage still arrives.
    const seconds = (slots + 1) * SLOT_S + (2 * SETTLES_MS) / 1_000
    print(`${rate.toLocaleString('en-US')} events a second for ${Math.round(seconds / 60)} minutes`)
    const ended = new AbortController()
    const looking = lookAfterSlots(stage, slots + 1, ended.signal)
    const load = { seconds, rate, times: { kind: 'now', latePercent } } as const
    const running = stage.run(load).finally(() => {
      ended.abort()
    })
    const [run, looks] = await Promise.all([running, looking])
    print(`${await stage.requireExact()} balances are exactly what was acknowledged`)
    const steps = looks.slice(1).map((look, index) => grownBy(looks[index] ?? look, look))
    const total = (of: (step: RollupCounters) => number) => steps.reduce((sum, step) => sum + of(step), 0)
    const rowsAnEvent = total(({ rowsRead }) => rowsRead) / total(({ loaded }) => loaded)
    const on = `${Math.round(run.acceptedPerS).toLocaleString('en-US')} events/s, ${latePercent} % late`
    const compared = [compare({ measure: 'rollupRows', value: rowsAnEvent, on })]
    const cells = steps.map(({ slotsClosed, rowsRead, loaded, lateMarks }) =>
      [slotsClosed, loaded, rowsRead, lateMarks]
        .map((value) => value.toLocaleString('en-US'))
        .concat((rowsRead / loaded).toFixed(2)),
    )
    const headings = ['slots closed', 'events loaded', 'rows read', 'late marks', 'rows an event']
    for (const line of formatTable(headings, cells, 0)) print(line)
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'rollups', rate, latePercent, run, steps, compared })
    failWhenMissed(compared)
  } finally {
    await stage.close()
  }
}

/**
 * @returns the counters at a fixed time after each slot was closed, for as many slots as were closed before the signal
 */
async function lookAfterSlots(
  stage: LoadStage,
  wanted: number,
  signal: AbortSignal,
): Promise<RollupCounters[]> {
  const looks: RollupCounters[] = []
  let { slotsClosed } = await lookNow(stage)
  let lookAt = Infinity
  while (looks.length < wanted && !signal.aborted) {
    const look = await lookNow(stage)
    if (look.slotsClosed > slotsClosed) {
      slotsClosed = look.slotsClosed
      lookAt = performance.now() + SETTLES_MS
    }
    if (performance.now() >= lookAt) {
      looks.push(look)
      lookAt = Infinity
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
  if (looks.length < wanted) throw new Error(`${looks.length} of ${wanted} time slots were closed in time`)
  return looks
}

const lookNow = async (stage: LoadStage): Promise<RollupCounters> => rollupCountersOf(await stage.scrape())
