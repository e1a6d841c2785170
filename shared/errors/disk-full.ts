import { StartupError } from './startup-error.ts'

/** Of the system, of a quota, of PostgreSQL (disk_full), and of ClickHouse (NOT_ENOUGH_SPACE). */
const CODES = new Set(['ENOSPC', 'EDQUOT', '53100', '243'])

/** As PostgreSQL and ClickHouse hand on what the system said. */
const MESSAGE = /No space left on device|\bENOSPC\b|NOT_ENOUGH_SPACE/i

/** Whether something failed because a disk is full. */
export function isDiskFull(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  const code = 'code' in err ? String(err.code) : ''
  if (CODES.has(code) || MESSAGE.test(err.message)) return true
  return err instanceof AggregateError ? err.errors.some(isDiskFull) : isDiskFull(err.cause)
}

/**
 * What to tell the operator of a start that failed.
 *
 * @param folder where the embedded engines have their data
 * @returns a StartupError that says the full disk where it was that; else the error as it is
 */
export function explainFullDisk(err: unknown, folder: string): unknown {
  if (!isDiskFull(err)) return err
  const said = err instanceof Error ? err.message.split('\n', 1)[0] : String(err)
  return new StartupError(`the disk of ${folder} is full: make room there, and start again (${said})`, {
    cause: err,
  })
}
