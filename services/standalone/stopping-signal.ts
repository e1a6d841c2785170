import { StartupError } from '../../shared/errors/startup-error.ts'
import { abortOnStop } from '../../shared/lifecycle/stop-signal.ts'
import type { Logger } from '../../shared/logging/logger.ts'

const STOP_MS = 9_500

/** A signal that is aborted when the process is to end, so that the databases are closed in order. */
export const stoppingSignal = (log: Logger): AbortSignal =>
  abortOnStop(log, STOP_MS, (signal) => new StartupError(`stopped by ${signal}`))
