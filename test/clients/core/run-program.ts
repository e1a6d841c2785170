import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { Readable } from 'node:stream'
import { runExport } from '../../../clients/analysts/export/run-export.ts'
import { runPreview } from '../../../clients/billing/preview/run-preview.ts'
import { runPriceSimulation } from '../../../clients/billing/simulate-prices/run-price-simulation.ts'
import { exitCodeOf } from '../../../clients/core/exit-code-of.ts'
import type { Program, ProgramContext } from '../../../clients/core/program.ts'
import { runImport } from '../../../clients/reporter/import/run-import.ts'
import { runSimulation } from '../../../clients/reporter/simulate/run-simulation.ts'

/** The result of a program. */
export interface Outcome {
  code: number
  /** Standard output and standard error as text. */
  out: string
  err: string
}

export interface RunOptions {
  env?: Record<string, string>
  /** Standard input. */
  input?: string | Buffer
  signal?: AbortSignal
}

/** Runs `npm run import` within this process. */
export const importWith = (args: readonly string[], options?: RunOptions) =>
  run(runImport, 'npm run import -- --file …', args, options)

/** Runs `npm run simulate` within this process. */
export const simulateWith = (args: readonly string[], options?: RunOptions) =>
  run(runSimulation, 'npm run simulate -- --rate …', args, options)

/** Runs `npm run preview` within this process. */
export const previewWith = (args: readonly string[], options?: RunOptions) =>
  run(runPreview, 'npm run preview -- --at …', args, options)

/** Runs `npm run export` within this process. */
export const exportWith = (args: readonly string[], options?: RunOptions) =>
  run(runExport, 'npm run export -- --view …', args, options)

/** Runs `npm run simulate-prices` within this process. */
export const simulatePricesWith = (args: readonly string[], options?: RunOptions) =>
  run(runPriceSimulation, 'npm run simulate-prices -- --card …', args, options)

async function run(
  program: Program,
  npmForm: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Outcome> {
  const { env = {}, input = '', signal = new AbortController().signal } = options
  const outcome = { code: 0, out: '', err: '' }
  const context: ProgramContext = {
    args,
    env,
    input: Readable.from([Buffer.from(input)]),
    out: (line) => {
      outcome.out += `${line}\n`
    },
    err: (line) => {
      outcome.err += `${line}\n`
    },
    screen: undefined,
    signal,
  }
  outcome.code = await exitCodeOf(program, context, npmForm)
  return outcome
}

/** A program in a separate process. */
export interface StartedReporter {
  process: ChildProcess
  /** Resolves when the process has ended; the code is null when a signal ended it. */
  ended: Promise<{ code: number | null; out: string; err: string }>
}

/** Starts `npm run import` or `npm run simulate` in a separate process, which a test can interrupt or kill. */
export function startReporter(program: 'import' | 'simulate', args: readonly string[]): StartedReporter {
  const main = path.resolve(import.meta.dirname, `../../../clients/reporter/${program}.main.js`)
  const child = spawn(process.execPath, ['--enable-source-maps', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const outcome = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (outcome.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (outcome.err += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...outcome }))
  return { process: child, ended }
}
