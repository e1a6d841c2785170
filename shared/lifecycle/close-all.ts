import type { Logger } from '../logging/logger.ts'

/** A part of a running process that is closed when it ends. */
export interface Closeable {
  name: string
  close(): Promise<void>
}

/**
 * Closes parts in reverse order of opening, so each part is closed after the parts that use it: servers, then the
 * loader, then engines. If a part fails to close, the error is logged and the exit code is set. The other parts are
 * still closed.
 */
export async function closeAll(opened: readonly Closeable[], log: Logger): Promise<void> {
  for (const part of opened.toReversed()) {
    const startedAt = performance.now()
    try {
      await part.close()
      log.debug({ part: part.name, ms: Math.round(performance.now() - startedAt) }, 'closed')
    } catch (err) {
      process.exitCode = 1
      log.error({ err, part: part.name }, 'could not close a part')
    }
  }
}
