import { UsageError } from '../../shared/errors/usage-error.ts'

/** The error for a command with an unknown action, or with none. */
export const unknownAction = (command: string, actions: readonly string[], given: string): UsageError =>
  new UsageError(
    `${command} takes ${actions.join(', ')}${given === '' ? '' : `, not ${JSON.stringify(given)}`}: say which`,
  )
