import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../shared/errors/startup-error.ts'
import type { CommandLine } from './admin-app.ts'

export interface RunningTally {
  dataFolder: string
  adminPort: number
}

/**
 * Has a command run by the Tally that is running on this machine: an embedded engine cannot be opened by two processes.
 *
 * @returns the command's exit code
 * @throws StartupError when no Tally answers
 */
export async function askRunning(
  { dataFolder, adminPort }: RunningTally,
  name: string,
  args: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const tokenFile = path.resolve(dataFolder, 'admin-token')
  const token = await readFile(tokenFile, 'utf8').catch((err: unknown) => {
    throw new StartupError(
      `cannot read ${tokenFile}: start Tally with npm start, or set DATA_DIR to its data folder`,
      {
        cause: err,
      },
    )
  })
  const response = await fetch(`http://127.0.0.1:${adminPort}/commands/${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ args }),
  }).catch((err: unknown) => {
    throw new StartupError(
      `no Tally answers on 127.0.0.1:${adminPort}: start it with npm start, or set ADMIN_PORT`,
      {
        cause: err,
      },
    )
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
