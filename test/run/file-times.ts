import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { RUN_FOLDER } from './ask-run.ts'

/** A file in the folder of the run. The hooks of the workers write a test file and its milliseconds in each line. */
export const TIMES_FILE = 'times.tsv'

const BUILT = path.join(PROJECT_ROOT, 'dist/test/')

/** The test file of a top-level suite or its parent, as a path in test/ without the extension. */
export function fileOf(suite: Mocha.Suite | undefined): string {
  const file = suite?.file ?? suite?.suites[0]?.file ?? ''
  return file.replace(BUILT, '').replace(/\.test\.js$/, '')
}

/** Collects the duration of each file, in this process and in the workers. */
export class FileTimes {
  private readonly here = new Map<string, number>()
  private startedAt = 0

  constructor(runner: Mocha.Runner) {
    const isAtTop = (suite: Mocha.Suite) => suite.parent?.root === true
    runner.on('suite', (suite) => {
      if (isAtTop(suite)) this.startedAt = performance.now()
    })
    runner.on('suite end', (suite) => {
      if (isAtTop(suite)) this.add(this.here, fileOf(suite), performance.now() - this.startedAt)
    })
  }

  /** @returns milliseconds by file, the slowest first */
  list(): [file: string, ms: number][] {
    const noted = path.join(process.env[RUN_FOLDER] ?? '', TIMES_FILE)
    const times = existsSync(noted) ? new Map<string, number>() : this.here
    if (existsSync(noted))
      for (const line of readFileSync(noted, 'utf8').trim().split('\n')) {
        const [file = '', ms] = line.split('\t')
        this.add(times, file, Number(ms))
      }
    return [...times].sort(([, a], [, b]) => b - a)
  }

  private add(times: Map<string, number>, file: string, ms: number): void {
    times.set(file, (times.get(file) ?? 0) + ms)
  }
}
