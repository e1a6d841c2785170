const EXIT_FAILED = 1

let isExpected = false

/**
 * Declares that the process goes on when its output cannot be written: it is a server, and its output need not be read.
 */
export function expectLostOutput(): void {
  isExpected = true
}

/**
 * Ends a process that cannot print its result with one line and exit code 1, instead of a stack. It prints nothing when
 * the reader has gone, as `head` does after its last line. If standard error cannot be written either, the error is
 * lost.
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
