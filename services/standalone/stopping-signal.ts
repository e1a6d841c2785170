import { StartupError } from '../../shared/errors/startup-error.ts'
import { stopSignal } from '../../shared/lifecycle/stop-signal.ts'
import type { Logger } from '../../shared/logging/logger.ts'

const STOP_MS = 9_500

/** A signal that is aborted when the process is to end, so that the databases are closed in order. */
export function stoppingSignal(log: Logger): AbortSignal {
  const stopping = new AbortController()
  void stopSignal(log, STOP_MS).then((signal) => {
    stopping.abort(new StartupError(`stopped by ${signal}`))
  })
  return stopping.signal
}
