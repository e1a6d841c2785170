import { readFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { StartupError } from '../../shared/errors/startup-error.ts'
import type { CommandLine } from './add-commands.ts'
import type { CommandContext } from './command.ts'

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
  { print, showProgress }: Pick<CommandContext, 'print' | 'showProgress'>,
): Promise<number> {
  const [address, token] = await Promise.all(
    [ADMIN_ADDRESS_FILE, ADMIN_TOKEN_FILE].map((name) => readNote(path.resolve(dataFolder, name))),
  )
  const url = `http://${address}/commands/${encodeURIComponent(name)}`
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  // Why not fetch: it gives up on an answer, or a pause in one, of more than five minutes, and an audit may be silent
  // longer.
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: 'POST', headers, agent: false })
      .on('response', resolve)
      .on('error', reject)
      .end(JSON.stringify({ args }))
  }).catch((err: unknown) => {
    throw new StartupError(`no Tally answers on ${address}: start it with npm start`, { cause: err })
  })
  if (response.statusCode !== 200)
    throw new StartupError(`the running Tally refused: ${response.statusCode} ${await text(response)}`)
  for await (const line of linesOf(response)) {
    if ('exit' in line) return line.exit
    if ('out' in line) print(line.out)
    else showProgress(line.progress)
  }
  throw new StartupError('the running Tally stopped before the command was done')
}

/** The lines of an answer, as they come; a connection that breaks ends them. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<CommandLine> {
  response.setEncoding('utf8')
  let rest = ''
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield JSON.parse(line) as CommandLine
    }
  } catch (err) {
    throw new StartupError('the running Tally stopped before the command was done', { cause: err })
  }
}

async function readNote(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    const advice = 'start Tally with npm start, or set DATA_DIR to its data folder'
    throw new StartupError(`cannot read ${file}: ${advice}`, { cause: err })
  })
  return text.trim()
}
