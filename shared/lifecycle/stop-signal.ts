import type { Logger } from '../logging/logger.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Resolves on the first SIGINT, SIGTERM or SIGHUP. From then on the process has `timeoutMs` to end, after the delay in
 * which it still serves. After that time it kills itself, even if some of its work hangs.
 */
export function stopSignal(log: Logger, timeoutMs: number, delayMs = 0): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (stopping) return // after Ctrl-C, a process gets the signal twice: from the terminal and from npm
        stopping = true
        log.info({ signal }, 'stopping')
        setTimeout(() => {
          log.fatal({ timeoutMs }, 'could not stop in time')
          process.kill(process.pid, 'SIGKILL') // an exit would wait for threads, perhaps for ever
        }, delayMs + timeoutMs).unref()
        resolve(signal)
      })
    }
  })
}

/**
 * A signal that is aborted when the process is to end: see stopSignal.
 *
 * @param reasonOf makes the reason of the abort, if it is not the usual one
 */
export function abortOnStop(
  log: Logger,
  timeoutMs: number,
  reasonOf: (signal: NodeJS.Signals) => Error | undefined = () => undefined,
): AbortSignal {
  const stopping = new AbortController()
  void stopSignal(log, timeoutMs).then((signal) => {
    stopping.abort(reasonOf(signal))
  })
  return stopping.signal
}
