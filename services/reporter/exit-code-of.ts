import { ConfigError } from '../../shared/config/env-reader.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { EXIT_FAILED, EXIT_USAGE, type Program, type ProgramContext } from './program.ts'
import { UsageError } from './usage-error.ts'

/** Runs a program to its exit code, and says why when it ends early. */
export async function exitCodeOf(program: Program, context: ProgramContext): Promise<number> {
  try {
    return await program(context)
  } catch (err) {
    return explain(err, context)
  }
}

/** In one line when it is something the user can mend, else as the bug that it is. */
function explain(err: unknown, { err: print }: ProgramContext): number {
  if (isUsageError(err)) {
    print(`${err.message}\nSee --help.`)
    return EXIT_USAGE
  }
  if (err instanceof StartupError || err instanceof ConfigError) print(err.message)
  else print(err instanceof Error ? (err.stack ?? err.message) : String(err))
  return EXIT_FAILED
}

/** Ours, or that of node's parseArgs. */
const isUsageError = (err: unknown): err is Error =>
  err instanceof UsageError ||
  (err instanceof TypeError && 'code' in err && String(err.code).startsWith('ERR_PARSE_ARGS'))
