import { writeFile } from 'node:fs/promises'
import { describeMachine, saveResult } from './machine.ts'
import { plotLines } from './plot-lines.ts'
import { BALANCE, type QueryResult } from './query.ts'
import { fileBeside, runApart } from './run-apart.ts'
import { compare, type Compared, formatCompared } from './targets.ts'

export interface BenchScaleOptions {
  /** The sizes of the data sets, rising. */
  sizes: readonly number[]
  /** The folder that has the data sets, or gets them. */
  data: string
  requests: number
  save: string
  print: (line: string) => void
}

/**
 * Measures how balances slow down as the number of events grows. It runs the bench of queries on one data set after the
 * other. Each run is a separate process, because the embedded engine allows one folder per process.
 */
export async function benchScale({ sizes, data, requests, save, print }: BenchScaleOptions): Promise<void> {
  print(describeMachine())
  const points: { events: number; p50Ms: number; p99Ms: number }[] = []
  let ofLargest: Compared[] = []
  for (const events of sizes) {
    const words = ['query', '--events', String(events), '--data', data, '--requests', String(requests)]
    const result = await runApart(words, fileBeside(save, `-query-${events}.json`))
    const { rows, compared } = result as QueryResult
    ofLargest = compared
    const row = rows.find(({ name }) => name === BALANCE)
    if (row === undefined) throw new Error('no balance was asked for')
    points.push({ events, p50Ms: row.p50Ms, p99Ms: row.p99Ms })
  }
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) throw new Error('there is no data set to measure')
  const on = `${first.events.toLocaleString('en-US')} to ${last.events.toLocaleString('en-US')}`
  const compared = [...ofLargest, compare({ measure: 'growth', value: last.p50Ms / first.p50Ms, on })]
  for (const { events, p50Ms, p99Ms } of points)
    print(
      `${events.toLocaleString('en-US').padStart(11)} events: balance p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
    )
  for (const line of formatCompared(compared)) print(line)
  await saveResult(save, { bench: 'scale', points, compared })
  const svg = plotLines({
    title: 'Balance over HTTP, by the number of events',
    unit: 'ms',
    at: points.map(({ events }) => events),
    lines: [
      { name: 'p50', values: points.map(({ p50Ms }) => p50Ms) },
      { name: 'p99', values: points.map(({ p99Ms }) => p99Ms) },
    ],
  })
  await writeFile(fileBeside(save, '.svg'), svg)
  print(`drawn in ${fileBeside(save, '.svg')}`)
}
