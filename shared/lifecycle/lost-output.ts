const EXIT_FAILED = 1

let isExpected = false

/** Says that the process goes on when what it prints cannot be written: it serves, and nobody has to read that. */
export function expectLostOutput(): void {
  isExpected = true
}

/**
 * Ends a process that cannot print its result, with one line and exit code 1, where it would end with a stack; without
 * a word when the reader has gone, as `head` does. What it cannot say of an error is lost.
 */
export function endOnLostOutput(proc: NodeJS.Process): void {
  const { stdout, stderr } = proc
  stderr.on('error', () => undefined)
  stdout.on('error', (err: NodeJS.ErrnoException) => {
    if (isExpected) return
    if (err.code !== 'EPIPE') stderr.write(`what was to be printed could not be written: ${err.message}\n`)
    proc.exit(EXIT_FAILED)
  })
}
