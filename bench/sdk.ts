import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { formatTable } from '../shared/text/format-table.ts'
import { describeMachine, saveResult } from './machine.ts'
import { median } from './median.ts'
import type { ReportOrder, Way } from './report-usage.main.ts'

export interface BenchSdkOptions {
  /** How long each measurement takes, after a warm-up. */
  seconds: number
  /** Events a second. */
  rate: number
  /** The file for the results, as JSON. */
  save: string
  print: (line: string) => void
}

const WAYS: readonly Way[] = ['import', 'reporter', 'spool, os', 'spool, group']
const ROUNDS = 3
const WARM_UP_S = 2

/**
 * Measures the processor time that an event takes in the process that reports it. A server that accepts everything takes
 * the place of Tally. The ways are measured in turn, each time in a new process.
 */
export async function benchSdk({ seconds, rate, save, print }: BenchSdkOptions): Promise<void> {
  print(
    `${describeMachine()}; each figure the median of ${ROUNDS} rounds of ${seconds} s at ${rate} events/s`,
  )
  const server = fork(path.join(import.meta.dirname, 'accept.main.js'))
  const micros = new Map<Way, number[]>(WAYS.map((way) => [way, []]))
  try {
    const [port] = (await once(server, 'message')) as [number]
    const url = `http://127.0.0.1:${port}`
    for (let round = 0; round < ROUNDS; round++)
      for (const way of WAYS)
        micros.get(way)?.push(await measure({ url, way, rate, seconds, warmUpSeconds: WARM_UP_S }))
  } finally {
    server.kill()
  }
  const rows = WAYS.map((way) => {
    const cpuMicros = median(micros.get(way) ?? [])
    return { way, cpuMicros, ofCore: (cpuMicros * rate) / 1e6 }
  })
  const first = rows[0]?.cpuMicros ?? NaN
  const cells = rows.map(({ way, cpuMicros, ofCore }) => [
    way,
    cpuMicros.toFixed(2),
    (cpuMicros / first).toFixed(2),
    ofCore.toFixed(3),
  ])
  for (const line of formatTable(['', 'CPU µs/event', 'of import', 'of a core'], cells, 1)) print(line)
  await saveResult(save, { bench: 'sdk', seconds, rate, rows })
}

/** @returns microseconds of processor time for each event */
async function measure(order: ReportOrder): Promise<number> {
  const child = fork(path.join(import.meta.dirname, 'report-usage.main.js'), [JSON.stringify(order)])
  const [[micros]] = (await Promise.all([once(child, 'message'), once(child, 'exit')])) as [[number], unknown]
  return micros
}
