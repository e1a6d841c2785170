import { type IncomingMessage, request } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { StartupError } from '../../shared/errors/startup-error.ts'
import type { CommandContext } from './command.ts'
import { COMMAND_SOCKET, shortPathOf } from './command-socket.ts'
import type { CommandOutput } from './commands-app.ts'

/**
 * Sends a command to the Tally that is running in a data folder, because two processes cannot open an embedded engine.
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
  const response = await send(path.resolve(dataFolder), `/commands/${encodeURIComponent(name)}`, { args })
  if (response.statusCode !== 200)
    throw new StartupError(`the running Tally refused: ${response.statusCode} ${await text(response)}`)
  for await (const line of linesOf(response)) {
    if ('exit' in line) return line.exit
    if ('out' in line) print(line.out)
    else showProgress(line.progress)
  }
  throw new StartupError('the running Tally stopped before the command was done')
}

async function send(dataFolder: string, target: string, body: object): Promise<IncomingMessage> {
  try {
    const socket = await shortPathOf(path.join(dataFolder, COMMAND_SOCKET))
    const headers = { 'Content-Type': 'application/json' }
    // Why not fetch: it cannot connect to Unix sockets. It also gives up when the headers, or a pause in the body, take
    // more than five minutes. An audit may be silent for longer.
    return await new Promise<IncomingMessage>((resolve, reject) => {
      request({ socketPath: socket.path, path: target, method: 'POST', headers, agent: false })
        .on('response', resolve)
        .on('error', reject)
        .end(JSON.stringify(body))
    }).finally(() => socket.release())
  } catch (err) {
    if (err instanceof StartupError) throw err
    throw new StartupError(whyNotAsked(err, dataFolder), { cause: err })
  }
}

function whyNotAsked(err: unknown, dataFolder: string): string {
  const code = err instanceof Error && 'code' in err ? String(err.code) : ''
  if (code === 'EACCES' || code === 'EPERM')
    return `this user may not give commands to the Tally in ${dataFolder}: run the command as the user that Tally runs as`
  if (['ENOENT', 'ENOTDIR', 'ECONNREFUSED'].includes(code))
    return `no Tally runs in ${dataFolder}: start Tally with npm start, or set DATA_DIR to its data folder`
  return `the Tally in ${dataFolder} cannot be reached: ${String(err)}`
}

/**
 * Yields the lines of an answer as they arrive.
 * @throws StartupError when the connection breaks
 */
async function* linesOf(response: IncomingMessage): AsyncGenerator<CommandOutput> {
  response.setEncoding('utf8')
  let rest = ''
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield JSON.parse(line) as CommandOutput
    }
  } catch (err) {
    throw new StartupError('the running Tally stopped before the command was done', { cause: err })
  }
}
