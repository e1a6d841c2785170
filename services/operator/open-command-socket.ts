import { chmod, lstat, mkdir, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import path from 'node:path'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { listenOnSocket } from '../../shared/http/http-server.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import { COMMAND_SOCKET, shortPathOf } from './command-socket.ts'

/** The longest that `close` waits for unfinished answers. Commands end before that. */
const CLOSE_MS = 4_000

/** Files that earlier versions used instead of the socket. They are removed, because one contains a secret. */
const BEFORE = ['admin-token', 'admin-address']

/**
 * Takes commands over a Unix socket in the data folder, until it is closed. The file system decides who may connect:
 * only the user that runs Tally can enter the socket's folder. Therefore no secret is needed, and no other user can
 * listen there. A socket that already exists is from a Tally that was killed, because this process has the lock of the
 * data folder.
 *
 * @param dataFolder its absolute path; this process has locked the folder
 * @throws StartupError when the socket cannot be made, or its path would be too long
 */
export async function openCommandSocket(handler: RequestListener, dataFolder: string): Promise<Closeable> {
  for (const name of BEFORE) await rm(path.join(dataFolder, name), { force: true })
  const socket = path.join(dataFolder, COMMAND_SOCKET)
  await makeFolder(path.dirname(socket))
  await rm(socket, { force: true })
  const short = await shortPathOf(socket)
  try {
    const server = await listenOnSocket(handler, {
      name: 'the socket for commands',
      path: short.path,
      closeTimeoutMs: CLOSE_MS,
    })
    await chmod(socket, 0o600).catch(async (err: unknown) => {
      await server.close()
      throw err
    })
    return {
      name: 'socket for commands',
      async close() {
        await server.close() // this removes the socket
        await short.release()
      },
    }
  } catch (err) {
    await short.release()
    throw err
  }
}

/** @throws StartupError when the path exists and is no folder of this user */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== process.geteuid?.())
    throw new StartupError(
      `${folder} is no folder of this user: remove it, or set DATA_DIR to another folder`,
    )
  await chmod(folder, 0o700)
}
