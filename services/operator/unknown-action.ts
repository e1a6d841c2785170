import { UsageError } from '../../shared/errors/usage-error.ts'

/** A command was told to do what it cannot, or not told what to do. */
export const unknownAction = (command: string, actions: readonly string[], given: string): UsageError =>
  new UsageError(
    `${command} takes ${actions.join(', ')}${given === '' ? '' : `, not ${JSON.stringify(given)}`}: say which`,
  )
