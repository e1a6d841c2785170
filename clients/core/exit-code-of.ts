import { ConfigError } from '../../shared/config/env-reader.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { isUsageError, npmHint } from '../../shared/errors/usage-error.ts'
import { printableLines } from '../../shared/text/printable.ts'
import { TallyError } from '../sdk/src/node.ts'
import { EXIT_FAILED, EXIT_USAGE, type Program, type ProgramContext } from './program.ts'

/**
 * Runs a program and returns its exit code. If the program throws, the reason is printed. All printed text is made safe
 * for a terminal.
 *
 * @param npmForm the form in which npm calls the program
 */
export async function exitCodeOf(program: Program, given: ProgramContext, npmForm: string): Promise<number> {
  const context: ProgramContext = {
    ...given,
    out: (line) => {
      given.out(printableLines(line))
    },
    err: (line) => {
      given.err(printableLines(line))
    },
  }
  try {
    return await program(context)
  } catch (err) {
    return explain(err, context, npmForm)
  }
}

/** Prints an error: in one line when the user can correct it, otherwise as a bug. */
function explain(err: unknown, { args, err: print }: ProgramContext, npmForm: string): number {
  if (isUsageError(err)) {
    print(`${err.message}${npmHint(args, npmForm)}\nSee --help.`)
    return EXIT_USAGE
  }
  if (err instanceof StartupError || err instanceof ConfigError || TallyError.is(err)) print(err.message)
  else print(err instanceof Error ? (err.stack ?? err.message) : String(err))
  return EXIT_FAILED
}
