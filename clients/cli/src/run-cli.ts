import { Command } from 'commander'
import { printable, printableLines } from '../../../shared/text/printable.ts'
import type { CliContext } from './cli-context.ts'
import { addApi } from './commands/api.ts'
import { addBalance } from './commands/balance.ts'
import { addLogin } from './commands/login.ts'
import { addNouns } from './commands/nouns.ts'
import { addReport } from './commands/report.ts'
import { addReporter } from './commands/reporter.ts'
import { addUsage } from './commands/usage.ts'
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, failureOf } from './exit-codes.ts'
import { programCallOf, PROGRAMS, runHandedOn } from './programs.ts'
import { InterruptedError } from './read-secret.ts'
import { VERSION } from './version.ts'

const ABOUT = 'The command line of Tally, over its HTTP API.'
const AFTER = `
The address and the key come from options, else from TALLY_URL and
TALLY_API_KEY, else from a profile (tally login), else from the folder DATA_DIR
of a Tally on this machine. No key is ever an option. The key of a profile is
sent to the address of that profile only.

Exit code: 0 done, 1 failed or refused, 2 the words are wrong, 75 not now: try
again later, 130 interrupted by Ctrl-C.`

/** Makes the commands. */
function makeProgram(context: CliContext): Command {
  const program = new Command('tally')
    .description(ABOUT)
    .version(VERSION)
    .option('--url <url>', 'The address of Tally.')
    .option('--key-file <file>', 'A file with the API key.')
    .option('--profile <name>', 'The profile to use.')
    .option('--json', 'Shows answers as JSON, as the API gives them.')
    .option('--yes', 'Does not ask before harm in a live company.')
    .addHelpText('after', AFTER)
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: (text) => {
        context.out(text.replace(/\n$/, ''))
      },
      writeErr: (text) => {
        context.err(printableLines(text.replace(/\n$/, '')))
      },
      // It is shown as every other error.
      outputError: () => undefined,
      getOutHelpWidth: () => context.columns ?? 80,
      getErrHelpWidth: () => context.columns ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
  program.commandsGroup('Commands:')
  addLogin(program, context)
  addBalance(program, context)
  addUsage(program, context)
  addReport(program, context)
  addApi(program, context)
  addReporter(program, context)
  program.commandsGroup('Programs, with options of their own:')
  for (const { name, about } of PROGRAMS) program.command(name).description(about)
  addNouns(program, context)
  return program
}

/**
 * Runs a command.
 *
 * @param screen the terminal for a progress bar
 * @returns the exit code
 */
export async function runCli(
  args: readonly string[],
  context: CliContext,
  screen?: NodeJS.WriteStream,
): Promise<number> {
  try {
    const call = programCallOf(args)
    if (call !== undefined) return await runHandedOn(call, context, screen)
    await makeProgram(context).parseAsync([...args], { from: 'user' })
    return EXIT_OK
  } catch (err) {
    return explain(err, context)
  }
}

/** Says in one line how a command failed. @returns the exit code */
function explain(err: unknown, { err: print, signal }: Pick<CliContext, 'err' | 'signal'>): number {
  if (signal.aborted || err instanceof InterruptedError) return EXIT_INTERRUPTED
  const failure = failureOf(err)
  if (failure === undefined) {
    print(printableLines(err instanceof Error ? (err.stack ?? err.message) : String(err)))
    return EXIT_FAILED
  }
  if (failure.text !== '') print(`tally: ${printable(failure.text)}`)
  return failure.code
}
