import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { ReporterPoint } from '../../../../clients/sdk/src/reporter/spool/points.ts'
import { PROJECT_ROOT } from '../../../../shared/config/project-root.ts'
import { endWithUs } from '../../../support/end-with-us.ts'
import type { ReportOrder } from './report.main.ts'

/** A reporter in a process of its own. What it says is kept here, whatever happens to it. */
export interface ReporterProcess {
  child: ChildProcess
  /** The keys of events that it began to report. */
  tried: Set<string>
  /** The keys of events that were safe. */
  safe: Set<string>
  output: () => string
  /** Resolves with its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>
}

/** All points at which a reporter can be ended. */
export const REPORTER_POINTS: readonly ReporterPoint[] = [
  'group-written',
  'group-synced',
  'group-renamed',
  'group-acknowledged',
  'batch-sent',
  'batch-answered',
  'rejected-written',
  'file-deleted',
  'files-merged',
]

const MAIN = path.join(PROJECT_ROOT, 'dist/test/clients/sdk/reporter/report.main.js')

export const startReporter = (order: ReportOrder): ReporterProcess =>
  startProgram(order, process.execPath, ['--enable-source-maps', MAIN])

/** Starts a program that takes the order as its last argument, and says what `report.main.ts` says. */
export function startProgram(order: ReportOrder, program: string, words: readonly string[]): ReporterProcess {
  const child = spawn(program, [...words, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'pipe'] })
  endWithUs(child)
  const [tried, safe] = [new Set<string>(), new Set<string>()]
  let [rest, output] = ['', '']
  const keyOf = (n: number | string) => `${order.run}-${n}`
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [kind, ...words] = line.split(' ')
      if (kind === 'tried') for (let n = Number(words[0]); n < Number(words[1]); n++) tried.add(keyOf(n))
      else if (kind === 'safe') for (const n of words) safe.add(keyOf(n))
      else output += `${line}\n`
    }
  })
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close').then(
    ([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null,
  )
  return { child, tried, safe, output: () => output, ended }
}
