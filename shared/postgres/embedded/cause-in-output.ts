/** The prefix of each line of PostgreSQL's log: see log_line_prefix. */
const PREFIX = /^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] /

/**
 * Messages to connections, including Tally's own, while a server starts or ends. They are never the reason why the
 * server does not start.
 */
const PASSING =
  /FATAL: +(the database system is |terminating connection |terminating background worker|canceling authentication)/

/** Patterns of the cause, the most certain first. */
const CAUSES: readonly RegExp[] = [/No space left on device/, /PANIC:/, /FATAL:/, /ERROR:|\berror:/]

/**
 * Finds in the output of a PostgreSQL program why the program failed. The last line often says only what it did
 * afterwards, such as cleaning up. The cause is above that line.
 *
 * @returns one line; the last one if no line shows a failure, or an empty text if there is no line
 */
export function causeInOutput(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.replace(PREFIX, '').replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '' && !PASSING.test(line))
  for (const cause of CAUSES) {
    const found = lines.findLast((line) => cause.test(line))
    if (found !== undefined) return found
  }
  return lines.at(-1) ?? ''
}
