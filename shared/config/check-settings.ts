import type { EnvReader } from './env-reader.ts'

/** The option with which a program checks its settings, and ends. */
export const CHECK_CONFIG = '--check-config'

/** The lines about the option for the help of a program. */
export const CHECK_CONFIG_HELP = `  ${CHECK_CONFIG} [NAME ...]  only checks the settings, and that each NAME is one of them`

/**
 * Checks the settings that a program has read.
 *
 * @param names variables that must be settings of the program. The environment also has variables of others, so only
 *   the caller knows which ones are meant for Tally
 * @param command the command line: `npm start`
 * @param advice as in EnvReader.done
 * @returns a line that says that all is valid
 * @throws ConfigError that names all problems
 */
export function checkSettings(
  read: EnvReader,
  names: readonly string[],
  command: string,
  advice = '',
): string {
  const known = new Set(read.settings.map(({ name }) => name))
  for (const name of names) if (!known.has(name)) read.refuse(`${name} is no setting of ${command}`)
  read.done(advice)
  return `the settings of ${command} are valid`
}
