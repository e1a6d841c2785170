/** What PostgreSQL puts in front of each line of its log: see log_line_prefix. */
const PREFIX = /^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] /

/** Said to connections while a server starts or ends, ours among them; never why it does not start. */
const PASSING =
  /FATAL: +(the database system is |terminating connection |terminating background worker|canceling authentication)/

/** What tells the cause, the surest first. */
const CAUSES: readonly RegExp[] = [/No space left on device/, /PANIC:/, /FATAL:/, /ERROR:|\berror:/]

/**
 * Finds why one of PostgreSQL's programs failed in what it printed. The last line says what it did about it, such as
 * to clean up, and the cause stands above.
 *
 * @returns one line; the last one where none tells of a failure, or nothing when there is none at all
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
