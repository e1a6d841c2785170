import { DomainError } from '../../shared/errors/domain-error.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { isUsageError } from '../../shared/errors/usage-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { printableLines } from '../../shared/text/printable.ts'
import type { Command, CommandContext, CommandDeps } from './command.ts'
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
  const print = printableBy(context.print)
  const showProgress = printableBy(context.showProgress)
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) {
    print(
      `there is no command ${JSON.stringify(name)}; there are ${COMMANDS.map((one) => one.name).join(', ')}`,
    )
    return EXIT_USAGE
  }
  return ending(command, args, print, () => command.run(args, deps, { print, showProgress, signal, log }), {
    log,
    signal,
  })
}

const printableBy = (write: (line: string) => void) => (line: string) => {
  write(printableLines(line))
}

/**
 * Runs a command that needs no engine of Tally for these words, if it is one.
 *
 * @returns the exit code, or undefined if it needs engines
 */
export async function runAlone(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number | undefined> {
  const command = COMMANDS.find((one) => one.name === name)
  if (command?.runAlone === undefined || command.runsAlone?.(args) !== true) return undefined
  const print = printableBy(write)
  const run = command.runAlone
  return ending(command, args, print, () => run(args, env, { print }))
}

/** Runs a command, and turns errors into a line and an exit code. */
async function ending(
  command: Command,
  args: readonly string[],
  print: (line: string) => void,
  run: () => Promise<number>,
  { log, signal }: { log?: Logger; signal?: AbortSignal } = {},
): Promise<number> {
  const { name } = command
  try {
    return await run()
  } catch (err) {
    if (isUsageError(err)) {
      print(err.message + adviceOn(command, args))
      return EXIT_USAGE
    }
    if (err instanceof DomainError || err instanceof StartupError) print(err.message)
    else if (signal?.aborted === true) print(`${name} was stopped before it was done`)
    else {
      log?.error({ err, command: name }, 'a command failed')
      print(`${name} failed: ${err instanceof Error ? err.message : String(err)}`)
    }
    return EXIT_FAILED
  }
}
