import mocha from 'mocha'
import { FileTimes } from './file-times.ts'
import { noteFailure } from './has-failed.ts'
import { listPending } from './pending.ts'

const SLOWEST = 10

/**
 * Mocha's reporter with additions. It prints the reason of a failure at once. At the end it prints the reasons of
 * skipped suites, the slowest files, and a line that programs can parse.
 */
export default class SpecReporter extends mocha.reporters.Spec {
  private readonly times: FileTimes

  constructor(runner: mocha.Runner, options: mocha.MochaOptions) {
    super(runner, options)
    this.times = new FileTimes(runner)
    runner.on('fail', (_test, err: Partial<Error>) => {
      noteFailure()
      process.stdout.write(`${err.stack ?? err.message ?? JSON.stringify(err)}\n`)
    })
  }

  override epilogue(): void {
    super.epilogue()
    const tell = (line: string) => process.stdout.write(`${line}\n`)
    for (const [reason, files] of listPending()) tell(`pending, as ${reason}: ${[...files].join(', ')}`)
    const shown = process.env['TEST_TIMES'] === 'all' ? Infinity : SLOWEST
    const slowest = this.times.list().slice(0, shown)
    tell(`slowest: ${slowest.map(([file, ms]) => `${file} ${(ms / 1_000).toFixed(1)} s`).join(', ')}`)
    const { passes, failures, pending } = this.stats
    tell(`${passes} passed, ${failures} failed, ${pending} skipped`)
  }
}
