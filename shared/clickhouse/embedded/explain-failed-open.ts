import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { StartupError } from '../../errors/startup-error.ts'

/** Opening takes seconds; an attempt that takes longer than this gives no more information. */
const OPEN_MS = 60_000
const OUTPUT_MAX = 1_000_000
const NAMED_MAX = 3

/** Opens the engine once more and ends the process. By that time the engine has written its reason. */
const SCRIPT = `
  const { Session } = require(process.argv[1])
  try { new Session(process.argv[2], { connectionArgs: process.argv.slice(3) }) } catch {}
  process.kill(process.pid, 'SIGKILL')`

/** A data part that the engine cannot load. */
interface UnreadableDataPart {
  table: string
  part: string
  reason: string
}

/**
 * Finds out why the engine did not open. The engine writes the reason to standard error only, and names the broken part
 * only in its log. So the engine is opened once more in another process, and that process's log is read. This changes
 * nothing: a broken part stays where it is.
 *
 * @param folder the engine's data folder
 * @param engineArgs the engine's arguments
 * @returns an error of one line that says what to do
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
/** What follows the reason lists the part's columns, and is long. */
const END_OF_REASON = /: columns: |: \(while |, Stack trace/

/** @internal */
export function findUnreadableDataParts(output: string): UnreadableDataPart[] {
  const parts = new Map<string, UnreadableDataPart>()
  for (const [, table = '', part = '', said = ''] of output.matchAll(LOADING))
    parts.set(`${table} ${part}`, { table, part, reason: said.split(END_OF_REASON, 1)[0] ?? said })
  return [...parts.values()]
}

/** The innermost error that the engine prints; it wraps one error in another. */
function causeIn(output: string): string {
  const codes = [...output.matchAll(/Code: \d+\. DB::(?:Errno)?Exception: ((?:(?!Code: )[^\n])*)/g)]
  const [, last] = codes.at(-1) ?? []
  return (last ?? output.trim().split('\n').at(-1) ?? '').slice(0, CAUSE_MAX)
}

const CAUSE_MAX = 400
