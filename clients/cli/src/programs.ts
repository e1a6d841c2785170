import { printableLines } from '../../../shared/text/printable.ts'
import type { Program } from '../../core/program.ts'
import type { CliContext, GlobalOptions } from './cli-context.ts'
import { findConnection } from './connection.ts'

/** A program that reads its own options. */
export interface HandedOn {
  name: string
  about: string
  load: () => Promise<Program>
  /** Whether it calls the API, with the address and the key of a profile. */
  callsApi: boolean
}

/** The programs that `tally` hands on to. Each is loaded only when it is called. */
export const PROGRAMS: readonly HandedOn[] = [
  {
    name: 'import',
    about: 'Reports a file as usage.',
    load: async () => (await import('../../reporter/import/run-import.ts')).runImport,
    callsApi: true,
  },
  {
    name: 'simulate',
    about: 'Reports made-up usage.',
    load: async () => (await import('../../reporter/simulate/run-simulation.ts')).runSimulation,
    callsApi: true,
  },
  {
    name: 'preview',
    about: 'Writes the previews of a period of all contracts into a file.',
    load: async () => (await import('../../billing/preview/run-preview.ts')).runPreview,
    callsApi: true,
  },
  {
    name: 'simulate-prices',
    about: 'Shows the amounts that accounts would pay by a rate card.',
    load: async () =>
      (await import('../../billing/simulate-prices/run-price-simulation.ts')).runPriceSimulation,
    callsApi: true,
  },
  {
    name: 'export',
    about: "Writes a view of the analysts into files, with an analyst's password.",
    load: async () => (await import('../../analysts/export/run-export.ts')).runExport,
    callsApi: false,
  },
]

/** A call of a program: the options before its name, and the words behind it. */
export interface ProgramCall {
  program: HandedOn
  options: GlobalOptions
  words: readonly string[]
}

const WITH_VALUE: Readonly<Record<string, keyof GlobalOptions>> = {
  '--url': 'url',
  '--key-file': 'keyFile',
  '--profile': 'profile',
}

/** Finds out whether the words call a program. @returns undefined when they do not */
export function programCallOf(args: readonly string[]): ProgramCall | undefined {
  const options: Record<string, string> = {}
  for (let at = 0; at < args.length; at++) {
    const [word = '', inline] = (args[at] ?? '').split(/=([^]*)/)
    const option = WITH_VALUE[word]
    if (option === undefined) {
      const program = PROGRAMS.find(({ name }) => name === args[at])
      return program && { program, options, words: args.slice(at + 1) }
    }
    const value = inline ?? args[++at]
    if (value !== undefined) options[option] = value
  }
  return undefined
}

/**
 * Runs a program with its words, which are not read here.
 *
 * @param screen the terminal for a progress bar
 * @returns the exit code of the program
 */
export async function runHandedOn(
  { program, options, words }: ProgramCall,
  { env, input, out, err, signal }: CliContext,
  screen: NodeJS.WriteStream | undefined,
): Promise<number> {
  const run = await program.load()
  const { url, keyFile, profile } = options
  return run({
    args: words,
    env,
    command: `tally ${program.name}`,
    // Options behind the name count more than those before it. The keys of profiles and folders go to no other address.
    findConnection: program.callsApi
      ? (given, keyFileName) => {
          const named = { url: given.url ?? url, keyFile: given.keyFile ?? keyFile, profile }
          return findConnection(named, env, keyFileName)
        }
      : undefined,
    input,
    out: (line) => {
      out(printableLines(line))
    },
    err: (line) => {
      err(printableLines(line))
    },
    screen,
    signal,
  })
}
