import { constants } from 'node:fs'
import { access, open } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../shared/errors/startup-error.ts'

/**
 * The path of the socket in the data folder, on which a running Tally takes commands. Only Tally's user may enter
 * `operator`.
 */
export const COMMAND_SOCKET = path.join('operator', 'socket')

/** The maximum number of bytes of a path in the address of a socket (`sun_path`, without the NUL at its end). */
const PATH_BYTES_MAX = 107

/** A path to a socket that is short enough. It is valid until it is released. */
export interface SocketPath {
  path: string
  release(): Promise<void>
}

interface Surroundings {
  /** The working directory. */
  cwd?: string
  /** The folder in which the system shows this process's open files, by their number. */
  openFiles?: string
}

/**
 * Finds a path to a socket that is short enough to listen on and to connect to. It tries the socket's own path, then
 * the path relative to the working directory. Otherwise it opens the socket's folder, and returns a path through this
 * open file. Release closes the folder.
 *
 * @param socket an absolute path; its folder exists
 * @throws StartupError when there is no such path
 */
export async function shortPathOf(
  socket: string,
  { cwd = process.cwd(), openFiles = '/proc/self/fd' }: Surroundings = {},
): Promise<SocketPath> {
  const short = [socket, path.relative(cwd, socket)].find(fits)
  if (short !== undefined) return { path: short, release: () => Promise.resolve() }
  const folder = await open(path.dirname(socket), constants.O_RDONLY | constants.O_DIRECTORY)
  const through = path.join(openFiles, String(folder.fd))
  const isShown = await access(through).then(
    () => true,
    () => false,
  )
  if (isShown) return { path: path.join(through, path.basename(socket)), release: () => folder.close() }
  await folder.close()
  throw new StartupError(
    `the path ${socket} is longer than the ${PATH_BYTES_MAX} bytes that a socket may have: set DATA_DIR to a folder with a shorter path`,
  )
}

const fits = (name: string): boolean => Buffer.byteLength(name) <= PATH_BYTES_MAX
