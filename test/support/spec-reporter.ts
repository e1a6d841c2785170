import mocha from 'mocha'

/** Mocha's own reporter, which closes with one plain line that programs can read. */
export default class SpecReporter extends mocha.reporters.Spec {
  override epilogue(): void {
    super.epilogue()
    const { passes, failures, pending } = this.stats
    process.stdout.write(`${passes} passed, ${failures} failed, ${pending} skipped\n`)
  }
}
