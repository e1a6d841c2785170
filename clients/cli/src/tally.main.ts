#!/usr/bin/env node
import { setImmediate as nextTurn } from 'node:timers/promises'
import { endOnLostOutput } from '../../../shared/lifecycle/lost-output.ts'
import type { CliContext } from './cli-context.ts'
import { EXIT_INTERRUPTED } from './exit-codes.ts'
import { runCli } from './run-cli.ts'

/** How long a command may take to end after a signal to stop. */
const STOP_MS = 15_000

function contextOf(proc: NodeJS.Process): CliContext {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) return
    controller.abort()
    setTimeout(() => proc.exit(EXIT_INTERRUPTED), STOP_MS).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) proc.on(signal, stop)
  return {
    env: proc.env,
    input: proc.stdin,
    out: (line) => proc.stdout.write(`${line}\n`),
    err: (line) => proc.stderr.write(`${line}\n`),
    prompt: (text) => proc.stderr.write(text),
    columns: proc.stdout.isTTY ? proc.stdout.columns : undefined,
    signal: controller.signal,
    now: () => Math.floor(Date.now() / 1_000),
  }
}

endOnLostOutput(process)
void runCli(process.argv.slice(2), contextOf(process), process.stderr.isTTY ? process.stderr : undefined)
  .then((code) => nextTurn(code)) // a failed print is noticed only one turn later
  .then((code) => process.exit(code))
