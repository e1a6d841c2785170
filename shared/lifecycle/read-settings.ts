import { CHECK_CONFIG, CHECK_CONFIG_HELP, checkSettings } from '../config/check-settings.ts'
import { EnvReader } from '../config/env-reader.ts'
import { takeNoOptions } from './no-options.ts'

interface Program<Config> {
  /** The command line: `npm start`. */
  command: string
  /** What the program does, as a sentence. */
  about: string
  readConfig: (read: EnvReader) => Config
  /** As in EnvReader.done. */
  advice?: string
}

/**
 * Reads the settings of a program from its environment. With `--help` or `--check-config` it only prints.
 *
 * @param args the arguments after the command's name
 * @returns the settings; undefined if the program must end, because its help was printed or its settings were checked
 * @throws ConfigError that names all problems; UsageError for any other argument
 */
export function readSettings<Config>(
  args: readonly string[],
  { command, about, readConfig, advice }: Program<Config>,
): Config | undefined {
  const [option, ...names] = args
  const checks = option === CHECK_CONFIG
  const help = takeNoOptions(checks ? names.filter((name) => name.startsWith('-')) : args, command, about)
  if (help !== undefined) {
    process.stdout.write(`${help}\n\n${CHECK_CONFIG_HELP}\n`)
    return undefined
  }
  const read = new EnvReader(process.env)
  const config = readConfig(read)
  if (checks) {
    process.stdout.write(`${checkSettings(read, names, command, advice)}\n`)
    return undefined
  }
  read.done(advice)
  return config
}
