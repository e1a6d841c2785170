import { setImmediate as nextTurn } from 'node:timers/promises'
import { ConfigError } from '../config/env-reader.ts'
import { StartupError } from '../errors/startup-error.ts'
import { isUsageError } from '../errors/usage-error.ts'
import { printableLines } from '../text/printable.ts'
import { endOnLostOutput } from './lost-output.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2

let hangs = false

/**
 * Declares that a thread of the process does not end. exitWith then kills the process, because an exit would wait for
 * the thread.
 */
export function expectHangingThread(): void {
  hangs = true
}

/**
 * Ends the process when the work is done, with the exit code that the work set. After an error with a cause outside of
 * the program, only the error's message is printed and the exit code is 1. After wrong arguments the exit code is 2.
 * Any other error is a bug: its stack is printed, and the exit code is 1.
 */
export function exitWith(main: () => void | Promise<void>): void {
  endOnLostOutput(process)
  Promise.resolve()
    .then(main)
    .then(nextTurn) // in this turn, failed writes are reported to endOnLostOutput
    .then(
      () => {
        if (hangs) process.kill(process.pid, 'SIGKILL')
        process.exit()
      },
      (err: unknown) => {
        process.stderr.write(`${printableLines(explain(err))}\n`)
        process.exit(isUsageError(err) ? EXIT_USAGE : EXIT_FAILED)
      },
    )
}

function explain(err: unknown): string {
  if (err instanceof ConfigError || err instanceof StartupError || isUsageError(err)) return err.message
  return err instanceof Error ? (err.stack ?? err.message) : String(err)
}
