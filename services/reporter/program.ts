import type { Readable } from 'node:stream'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { stopSignal } from '../../shared/lifecycle/stop-signal.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { UsageError } from './usage-error.ts'

/** What a program has to do with the world, so that a test can put another one in its place. */
export interface ProgramContext {
  /** The words after the program's name. */
  args: readonly string[]
  env: NodeJS.ProcessEnv
  input: Readable
  /** Writes a line of the result. */
  out: (line: string) => void
  /** Writes a line about the work: bad lines, retries, progress. */
  err: (line: string) => void
  /** Where a progress bar can be drawn; undefined when nobody looks on. */
  screen: NodeJS.WriteStream | undefined
  /** Aborted when the program is asked to stop. */
  signal: AbortSignal
}

/** @returns the exit code */
export type Program = (context: ProgramContext) => Promise<number>

export const EXIT_OK = 0
export const EXIT_FAILED = 1
export const EXIT_USAGE = 2
export const EXIT_INTERRUPTED = 130

/** How long a program may take to end once it was asked to. */
const STOP_MS = 15_000

/** Runs a program in a process and ends the process with its exit code. */
export function runProgram(program: Program, proc: NodeJS.Process): void {
  const controller = new AbortController()
  void stopSignal(createLogger('silent'), STOP_MS).then(() => {
    controller.abort()
  })
  const context: ProgramContext = {
    args: proc.argv.slice(2),
    env: proc.env,
    input: proc.stdin,
    out: (line) => proc.stdout.write(`${line}\n`),
    err: (line) => proc.stderr.write(`${line}\n`),
    screen: proc.stderr.isTTY ? proc.stderr : undefined,
    signal: controller.signal,
  }
  program(context).then(
    (code) => proc.exit(code),
    (err: unknown) => proc.exit(explain(err, context)),
  )
}

/** Says why a program ended early: in one line when it is something the user can mend, else as the bug that it is. */
function explain(err: unknown, { err: print }: ProgramContext): number {
  if (isUsageError(err)) {
    print(`${err.message}\nSee --help.`)
    return EXIT_USAGE
  }
  if (err instanceof StartupError) print(err.message)
  else print(err instanceof Error ? (err.stack ?? err.message) : String(err))
  return EXIT_FAILED
}

/** Ours, or that of node's parseArgs. */
const isUsageError = (err: unknown): err is Error =>
  err instanceof UsageError ||
  (err instanceof TypeError && 'code' in err && String(err.code).startsWith('ERR_PARSE_ARGS'))
