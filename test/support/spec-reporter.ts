import mocha from 'mocha'

/** Mocha's own reporter, which tells why a test failed at once, and closes with one plain line that programs can read. */
export default class SpecReporter extends mocha.reporters.Spec {
  constructor(runner: mocha.Runner, options: mocha.MochaOptions) {
    super(runner, options)
    runner.on('fail', (_test, err) => {
      process.stdout.write(`${err instanceof Error ? (err.stack ?? err.message) : String(err)}\n`)
    })
  }

  override epilogue(): void {
    super.epilogue()
    const { passes, failures, pending } = this.stats
    process.stdout.write(`${passes} passed, ${failures} failed, ${pending} skipped\n`)
  }
}
