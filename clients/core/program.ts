import type { Readable } from 'node:stream'

/** The parts of its environment that a program uses. A test can replace them. */
export interface ProgramContext {
  /** The words after the program's name. */
  args: readonly string[]
  env: NodeJS.ProcessEnv
  input: Readable
  /** Writes a line of the result. */
  out: (line: string) => void
  /** Writes a line about the work: bad lines, retries, progress. */
  err: (line: string) => void
  /** The terminal for a progress bar; undefined when there is none. */
  screen: NodeJS.WriteStream | undefined
  /** Aborted when the program is asked to stop. */
  signal: AbortSignal
  /** How it was called, if not by npm: `tally import`. */
  command?: string | undefined
  /** Finds the address and the key, in place of the program's own rules. `tally` has profiles. */
  findConnection?: FindConnection | undefined
}

/**
 * @param given what the options of the program name
 * @param keyFileName the file in DATA_DIR with the key, when nothing else has one
 */
type FindConnection = (
  given: { url?: string | undefined; keyFile?: string | undefined },
  keyFileName: string,
) => Promise<{ url: string; apiKey: string; keySource: string }>

/** @returns the exit code */
export type Program = (context: ProgramContext) => Promise<number>

/** Prints the help of a program, which is written for npm, with the command as it was called. */
export function printHelp({ out, command }: Pick<ProgramContext, 'out' | 'command'>, help: string): void {
  out(command === undefined ? help : help.replaceAll(/npm run [\w-]+ --/g, command))
}

export const EXIT_OK = 0
export const EXIT_FAILED = 1
export const EXIT_USAGE = 2
export const EXIT_INTERRUPTED = 130
