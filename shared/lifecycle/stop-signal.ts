import type { Logger } from '../logging/logger.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Resolves on the first SIGINT or SIGTERM. From then on the process has `timeoutMs` to end; when it is still there it is
 * ended with exit code 1, so that an engine out of reach cannot hold it for ever.
 */
export function stopSignal(log: Logger, timeoutMs: number): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (stopping) return // a terminal and npm both pass Ctrl-C on
        stopping = true
        log.info({ signal }, 'stopping')
        setTimeout(() => {
          log.fatal({ timeoutMs }, 'could not stop in time')
          process.exit(1)
        }, timeoutMs).unref()
        resolve(signal)
      })
    }
  })
}
