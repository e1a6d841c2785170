import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { StartupError } from '../../errors/startup-error.ts'

/** Opening takes seconds; what takes longer than this tells nothing more. */
const OPEN_MS = 60_000
const OUTPUT_MAX = 1_000_000
const NAMED_MAX = 3

/** What the engine is opened with once more; it has said by then what it has to say. */
const SCRIPT = `
  const { Session } = require(process.argv[1])
  try { new Session(process.argv[2], { connectionArgs: process.argv.slice(3) }) } catch {}
  process.kill(process.pid, 'SIGKILL')`

/** A part of a table that the engine cannot load. */
interface UnreadableDataPart {
  table: string
  part: string
  reason: string
}

/**
 * Finds out why the engine did not open. It says so on standard error alone, and which part is broken only in its log,
 * so it is opened once more, in another process, whose log is read. Nothing is changed: a part that is broken stays
 * where it is.
 *
 * @param folder the engine's data folder
 * @param engineArgs what it is started with
 * @returns in one line, what to do about it
 */
export async function explainFailedOpen(
  folder: string,
  engineArgs: readonly string[],
): Promise<StartupError> {
  const output = await outputOf(folder, engineArgs)
  const broken = findUnreadableDataParts(output)
  const [first] = broken
  if (first === undefined)
    return new StartupError(`the embedded ClickHouse in ${folder} does not open: ${causeIn(output)}`)
  const others = broken.length > NAMED_MAX ? ` and ${broken.length - NAMED_MAX} more` : ''
  const named = broken.slice(0, NAMED_MAX).map(({ table, part }) => `${part} of ${table}`)
  return new StartupError(
    `ClickHouse has lost usage, or what is made of it: ${named.join(', ')}${others} cannot be read (${first.reason}); nothing was changed in ${folder}: docs/operations.md says what to do under "When ClickHouse has lost a part"`,
  )
}

async function outputOf(folder: string, engineArgs: readonly string[]): Promise<string> {
  const chdb = createRequire(import.meta.url).resolve('chdb')
  const args = [...engineArgs, '--logger.console=true', '--log-level=error']
  const child = spawn(process.execPath, ['-e', SCRIPT, chdb, folder, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    if (output.length < OUTPUT_MAX) output += chunk.toString()
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), OPEN_MS)
  await once(child, 'close')
  clearTimeout(timer)
  return output
}

const LOADING = /<Error> (\S+) \([^)]*\): while loading part (\S+) on path \S+ (Code: [^\n]*)/g
/** What follows the reason is about the part's columns, and long. */
const END_OF_REASON = /: columns: |: \(while |, Stack trace/

/** @internal */
export function findUnreadableDataParts(output: string): UnreadableDataPart[] {
  const parts = new Map<string, UnreadableDataPart>()
  for (const [, table = '', part = '', said = ''] of output.matchAll(LOADING))
    parts.set(`${table} ${part}`, { table, part, reason: said.split(END_OF_REASON, 1)[0] ?? said })
  return [...parts.values()]
}

/** The innermost of what the engine says; it wraps one error in another. */
function causeIn(output: string): string {
  const codes = [...output.matchAll(/Code: \d+\. DB::(?:Errno)?Exception: ((?:(?!Code: )[^\n])*)/g)]
  const [, last] = codes.at(-1) ?? []
  return (last ?? output.trim().split('\n').at(-1) ?? '').slice(0, CAUSE_MAX)
}

const CAUSE_MAX = 400
