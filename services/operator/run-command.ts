import { DomainError } from '../../shared/errors/domain-error.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { isUsageError } from '../../shared/errors/usage-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { printableLines } from '../../shared/text/printable.ts'
import type { CommandContext, CommandDeps } from './command.ts'
import { COMMANDS } from './commands.ts'
import { adviceOn } from './help-of.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2

/**
 * Runs a command in the process that has the engines open. All printed text is made safe for a terminal.
 *
 * @returns the exit code: 0 success, 1 the command failed or found a fault, 2 the arguments were not valid
 */
export async function runCommand(
  name: string,
  args: readonly string[],
  deps: CommandDeps,
  log: Logger,
  context: Omit<CommandContext, 'log'>,
): Promise<number> {
  const { signal } = context
  const print = (line: string) => {
    context.print(printableLines(line))
  }
  const showProgress = (line: string) => {
    context.showProgress(printableLines(line))
  }
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) {
    print(
      `there is no command ${JSON.stringify(name)}; there are ${COMMANDS.map((one) => one.name).join(', ')}`,
    )
    return EXIT_USAGE
  }
  try {
    return await command.run(args, deps, { print, showProgress, signal, log })
  } catch (err) {
    if (isUsageError(err)) {
      print(err.message + adviceOn(command, args))
      return EXIT_USAGE
    }
    if (err instanceof DomainError || err instanceof StartupError) print(err.message)
    else if (signal.aborted) print(`${name} was stopped before it was done`)
    else {
      log.error({ err, command: name }, 'a command failed')
      print(`${name} failed: ${err instanceof Error ? err.message : String(err)}`)
    }
    return EXIT_FAILED
  }
}
