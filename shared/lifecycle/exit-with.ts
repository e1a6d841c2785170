import { ConfigError } from '../config/env-reader.ts'
import { StartupError } from '../errors/startup-error.ts'

/**
 * Ends the process when the work is done: with the exit code it set, or with 1 and one line when something outside was in
 * the way. Anything else is a bug, and shows its stack.
 */
export function exitWith(main: () => void | Promise<void>): void {
  Promise.resolve()
    .then(main)
    .then(
      () => process.exit(),
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
