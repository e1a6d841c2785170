import { ConfigError } from '../config/env-reader.ts'
import { StartupError } from '../errors/startup-error.ts'

let hangs = false

/** Says that a thread of the process does not end: exitWith then kills the process, because an exit waits for threads. */
export function expectHangingThread(): void {
  hangs = true
}

/**
 * Ends the process when the work is done: with the exit code it set, or with 1 and one line when something outside was in
 * the way. Anything else is a bug, and shows its stack.
 */
export function exitWith(main: () => void | Promise<void>): void {
  Promise.resolve()
    .then(main)
    .then(
      () => {
        if (hangs) process.kill(process.pid, 'SIGKILL')
        process.exit()
      },
      (err: unknown) => {
        process.stderr.write(`${explain(err)}\n`)
        process.exit(1)
      },
    )
}

function explain(err: unknown): string {
  if (err instanceof ConfigError || err instanceof StartupError) return err.message
  return err instanceof Error ? (err.stack ?? err.message) : String(err)
}
