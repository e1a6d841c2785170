import { StartupError } from './startup-error.ts'

/**
 * Error codes for a full disk: of the system, of a quota, of PostgreSQL (disk_full), of ClickHouse (NOT_ENOUGH_SPACE).
 */
const CODES = new Set(['ENOSPC', 'EDQUOT', '53100', '243'])

/** The system's message, which PostgreSQL and ClickHouse repeat in their own messages. */
const MESSAGE = /No space left on device|\bENOSPC\b|NOT_ENOUGH_SPACE/i

/** Whether something failed because a disk is full. */
export function isDiskFull(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  const code = 'code' in err ? String(err.code) : ''
  if (CODES.has(code) || MESSAGE.test(err.message)) return true
  return err instanceof AggregateError ? err.errors.some(isDiskFull) : isDiskFull(err.cause)
}

/**
 * Explains a failed start when the disk is full.
 *
 * @param folder the embedded engines' data folder
 * @returns a StartupError that names the full disk; any other error unchanged
 */
export function explainFullDisk(err: unknown, folder: string): unknown {
  if (!isDiskFull(err)) return err
  const said = err instanceof Error ? err.message.split('\n', 1)[0] : String(err)
  return new StartupError(`the disk of ${folder} is full: make room there, and start again (${said})`, {
    cause: err,
  })
}
