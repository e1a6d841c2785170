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
    const times = this.times.list()
    const most = (of: 'ms' | 'processorMs') =>
      times
        .sort(([, a], [, b]) => b[of] - a[of])
        .slice(0, shown)
        .map(([file, time]) => `${file} ${(time[of] / 1_000).toFixed(1)} s`)
        .join(', ')
    tell(`slowest: ${most('ms')}`)
    tell(`most processor time: ${most('processorMs')}`)
    const { passes, failures, pending } = this.stats
    tell(`${passes} passed, ${failures} failed, ${pending} skipped`)
  }
}
