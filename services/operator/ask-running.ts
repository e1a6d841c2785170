import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../shared/errors/startup-error.ts'
import type { CommandLine } from './admin-app.ts'

/** Where a running Tally writes on which host and port it takes commands. */
export const ADMIN_ADDRESS_FILE = 'admin-address'
/** Where it keeps what a caller must know. */
export const ADMIN_TOKEN_FILE = 'admin-token'

/**
 * Has a command run by the Tally that is running on this machine: an embedded engine cannot be opened by two processes.
 *
 * @returns the command's exit code
 * @throws StartupError when no Tally answers
 */
export async function askRunning(
  dataFolder: string,
  name: string,
  args: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const [address, token] = await Promise.all(
    [ADMIN_ADDRESS_FILE, ADMIN_TOKEN_FILE].map((name) => readNote(path.resolve(dataFolder, name))),
  )
  const response = await fetch(`http://${address}/commands/${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ args }),
  }).catch((err: unknown) => {
    throw new StartupError(`no Tally answers on ${address}: start it with npm start`, { cause: err })
  })
  if (!response.ok || response.body === null)
    throw new StartupError(`the running Tally refused: ${response.status} ${await response.text()}`)
  const lines = createInterface({
    input: Readable.fromWeb(response.body),
    crlfDelay: Infinity,
  })
  for await (const text of lines) {
    const line = JSON.parse(text) as CommandLine
    if ('exit' in line) return line.exit
    print(line.out)
  }
  throw new StartupError('the running Tally stopped before the command was done')
}

async function readNote(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    const advice = 'start Tally with npm start, or set DATA_DIR to its data folder'
    throw new StartupError(`cannot read ${file}: ${advice}`, { cause: err })
  })
  return text.trim()
}
