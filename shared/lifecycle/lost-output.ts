const EXIT_FAILED = 1

let isExpected = false

/**
 * Declares that the process goes on when its output cannot be written: it is a server, and its output need not be read.
 */
export function expectLostOutput(): void {
  isExpected = true
}

/**
 * Ends a process that cannot print its result. It prints one line instead of a stack, and the exit code is 1. When the
 * reader has gone, as `head` does after its last line, it prints nothing. If standard error cannot be written either,
 * the error is lost.
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
