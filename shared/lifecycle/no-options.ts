import { UsageError } from '../errors/usage-error.ts'

/**
 * Takes the words of a command that is set up by the environment alone.
 *
 * @param args the words after its name
 * @param command how it is called: `npm start`
 * @param about what it does, as a sentence
 * @returns the help text when it was asked for
 * @throws UsageError for any other word: left unsaid, a setting would seem to be in force
 */
export function takeNoOptions(args: readonly string[], command: string, about: string): string | undefined {
  if (args.some((arg) => arg === '--help' || arg === '-h'))
    return `${about}\n\nusage: ${command}\n\n${SETTINGS}; npm run config prints those in force.`
  if (args.length === 0) return undefined
  throw new UsageError(`${command} takes no options, such as ${args[0] ?? ''}. ${SETTINGS}.`)
}

const SETTINGS =
  'Settings are environment variables, such as PORT=9000 npm start (docs/reference/settings.md)'
