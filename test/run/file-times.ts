import { existsSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { RUN_FOLDER } from './ask-run.ts'

/** A file in the folder of the run. The hooks of the workers write a line for each test file. */
const TIMES_FILE = 'times.tsv'

/** What a file took, in milliseconds. */
export interface FileTime {
  ms: number
  /** The processor time of the worker, and of the processes that it started and that ended. */
  processorMs: number
}

const BUILT = path.join(PROJECT_ROOT, 'dist/test/')

/** The test file of a top-level suite or its parent, as a path in test/ without the extension. */
export function fileOf(suite: Mocha.Suite | undefined): string {
  const file = suite?.file ?? suite?.suites[0]?.file ?? ''
  return file.replace(BUILT, '').replace(/\.test\.js$/, '')
}

const timesFile = () => path.join(process.env[RUN_FOLDER] ?? '', TIMES_FILE)

/** Writes down what a file took, because a worker cannot call the reporter. */
export const noteTime = (file: string, { ms, processorMs }: FileTime): Promise<void> =>
  appendFile(timesFile(), `${file}\t${Math.round(ms)}\t${Math.round(processorMs)}\n`)

/** Collects what each file took, in this process and in the workers. */
export class FileTimes {
  private readonly here = new Map<string, FileTime>()
  private startedAt = startClock()

  constructor(runner: Mocha.Runner) {
    const isAtTop = (suite: Mocha.Suite) => suite.parent?.root === true
    runner.on('suite', (suite) => {
      if (isAtTop(suite)) this.startedAt = startClock()
    })
    runner.on('suite end', (suite) => {
      if (isAtTop(suite)) add(this.here, fileOf(suite), this.startedAt())
    })
  }

  list(): [file: string, time: FileTime][] {
    const noted = timesFile()
    if (!existsSync(noted)) return [...this.here]
    const times = new Map<string, FileTime>()
    for (const line of readFileSync(noted, 'utf8').trim().split('\n')) {
      const [file = '', ms, processorMs] = line.split('\t')
      add(times, file, { ms: Number(ms), processorMs: Number(processorMs) })
    }
    return [...times]
  }
}

function add(times: Map<string, FileTime>, file: string, { ms, processorMs }: FileTime): void {
  const before = times.get(file) ?? { ms: 0, processorMs: 0 }
  times.set(file, { ms: before.ms + ms, processorMs: before.processorMs + processorMs })
}

/** @returns a function that returns the time since this call */
export function startClock(): () => FileTime {
  const [startedAt, processorMs] = [performance.now(), readProcessorMs()]
  return () => ({ ms: performance.now() - startedAt, processorMs: readProcessorMs() - processorMs })
}

/** The length of the kernel's clock ticks in /proc, on every platform that Node supports. */
const TICK_MS = 10

/** The processor time of this process, and on Linux also of its processes that ended, and of theirs. */
export function readProcessorMs(): number {
  const { user, system } = process.cpuUsage()
  if (process.platform !== 'linux') return (user + system) / 1_000
  // The name of the program is in parentheses, and may contain spaces. After it, the 12th to 15th fields are times.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
  const [ofUser, ofSystem] = fields.slice(13, 15)
  return (user + system) / 1_000 + (Number(ofUser) + Number(ofSystem)) * TICK_MS
}
