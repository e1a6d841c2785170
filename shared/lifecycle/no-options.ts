import { UsageError } from '../errors/usage-error.ts'

/**
 * Checks the arguments of a command that has settings, but no options.
 *
 * @param args the arguments after the command's name
 * @param command the command line: `npm start`
 * @param about what the command does, as a sentence
 * @returns the help text when it was requested
 * @throws UsageError for any other argument. If it were ignored, a user would believe that a setting took effect
 */
export function takeNoOptions(args: readonly string[], command: string, about: string): string | undefined {
  if (args.some((arg) => arg === '--help' || arg === '-h'))
    return `${about}\n\nusage: ${command}\n\n${SETTINGS}; npm run config prints those in force.`
  if (args.length === 0) return undefined
  throw new UsageError(`${command} takes no options, such as ${args[0] ?? ''}. ${SETTINGS}.`)
}

const SETTINGS =
  'Settings are environment variables, such as PORT=9000 npm start (docs/reference/settings.md)'
