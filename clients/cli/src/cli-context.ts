import type { Readable } from 'node:stream'

/** The parts of its environment that the command line uses. A test can replace them. */
export interface CliContext {
  env: NodeJS.ProcessEnv
  /** Standard input. On a terminal, a person can be asked. */
  input: Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown }
  /** Writes a line of the result. */
  out: (line: string) => void
  /** Writes a line about the work. */
  err: (line: string) => void
  /** Writes the beginning of a line, for a question. */
  prompt: (text: string) => void
  /** How many columns the terminal has that shows the result; undefined when it goes elsewhere. */
  columns: number | undefined
  /** Aborted when the program is asked to stop. */
  signal: AbortSignal
  /** Unix seconds. */
  now: () => number
}

/** The options of every command. */
export interface GlobalOptions {
  url?: string
  keyFile?: string
  profile?: string
  json?: true
  yes?: true
}
