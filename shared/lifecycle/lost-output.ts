const EXIT_FAILED = 1

let isExpected = false

/**
 * Declares that the process is a server: it goes on when its output cannot be written, because nobody need read it.
 */
export function expectLostOutput(): void {
  isExpected = true
}

/**
 * Ends a process that cannot print its result, with the exit code 1 and one line of error instead of a stack. It prints
 * no error if the reader of a pipe has ended, as `head` does after its last line. If standard error cannot be written
 * either, the error is lost.
 */
export function endOnLostOutput(proc: NodeJS.Process): void {
  const { stdout, stderr } = proc
  stderr.on('error', () => undefined)
  stdout.on('error', (err: NodeJS.ErrnoException) => {
    if (isExpected) return
    if (err.code !== 'EPIPE') stderr.write(`the output could not be written: ${err.message}\n`)
    proc.exit(EXIT_FAILED)
  })
}
