import { StartupError } from '../errors/startup-error.ts'
import type { openEngine } from './embedded/open-engine.ts'

/**
 * Imports what opens the embedded engine. Its package is 546 MB, and optional: services on servers do without it.
 *
 * @throws StartupError when the package is not installed
 */
export async function importEmbedded(): Promise<{ openEngine: typeof openEngine }> {
  try {
    return await import('./embedded/open-engine.ts')
  } catch (err) {
    if (!isMissing(err)) throw err
    throw new StartupError(
      'the embedded ClickHouse is not installed, or there is none for this machine (package chdb): set CLICKHOUSE_URL to a ClickHouse server instead',
      { cause: err },
    )
  }
}

/** Whether the package is not there, or has no engine for this machine. */
const isMissing = (err: unknown): boolean =>
  err instanceof Error &&
  (('code' in err && err.code === 'ERR_MODULE_NOT_FOUND') || err.name === 'ChdbPlatformUnsupportedError')
