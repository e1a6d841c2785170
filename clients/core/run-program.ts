import { setImmediate as nextTurn } from 'node:timers/promises'
import { endOnLostOutput } from '../../shared/lifecycle/lost-output.ts'
import { abortOnStop } from '../../shared/lifecycle/stop-signal.ts'
import { createLogger } from '../../shared/logging/logger.ts'
import { exitCodeOf } from './exit-code-of.ts'
import type { Program, ProgramContext } from './program.ts'

/** How long a program may take to end after a signal to stop. */
const STOP_MS = 15_000

/**
 * Runs a program and ends the process with its exit code.
 *
 * @param npmForm the form in which npm calls the program
 */
export function runProgram(program: Program, npmForm: string, proc: NodeJS.Process): void {
  endOnLostOutput(proc)
  const context: ProgramContext = {
    args: proc.argv.slice(2),
    env: proc.env,
    input: proc.stdin,
    out: (line) => proc.stdout.write(`${line}\n`),
    err: (line) => proc.stderr.write(`${line}\n`),
    screen: proc.stderr.isTTY ? proc.stderr : undefined,
    signal: abortOnStop(createLogger('silent'), STOP_MS),
  }
  void exitCodeOf(program, context, npmForm)
    .then((code) => nextTurn(code)) // a failed print is noticed only one turn later
    .then((code) => proc.exit(code))
}
