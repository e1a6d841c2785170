import type { Logger } from '../logging/logger.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Resolves on the first SIGINT, SIGTERM or SIGHUP. From then on the process has `timeoutMs` to end. Otherwise it is
 * killed, so that nothing that hangs can keep it running.
 */
export function stopSignal(log: Logger, timeoutMs: number): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (stopping) return // a terminal and npm both forward Ctrl-C
        stopping = true
        log.info({ signal }, 'stopping')
        setTimeout(() => {
          log.fatal({ timeoutMs }, 'could not stop in time')
          process.kill(process.pid, 'SIGKILL') // an exit would wait for threads, perhaps for ever
        }, timeoutMs).unref()
        resolve(signal)
      })
    }
  })
}
