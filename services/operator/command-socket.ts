import { constants } from 'node:fs'
import { access, open } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../shared/errors/startup-error.ts'

/** Where in the data folder a running Tally takes commands: in a folder that only its user may enter. */
export const COMMAND_SOCKET = path.join('operator', 'socket')

/** So many bytes of a path fit into the address of a socket (`sun_path`, without the NUL at its end). */
const PATH_BYTES_MAX = 107

/** A path of a socket that is short enough, until it is released. */
export interface SocketPath {
  path: string
  release(): Promise<void>
}

interface Surroundings {
  /** The working directory. */
  cwd?: string
  /** Where the system shows what this process has open, by number. */
  openFiles?: string
}

/**
 * Finds a way to a socket that is short enough to listen on and to connect to: its path, or that from the working
 * directory, or one through the folder it lies in, which is held open for that.
 *
 * @param socket an absolute path; the folder it lies in exists
 * @throws StartupError when there is no such way
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
    `the path ${socket} is longer than the ${PATH_BYTES_MAX} bytes that a socket may have: set DATA_DIR to a folder with a shorter one`,
  )
}

const fits = (name: string): boolean => Buffer.byteLength(name) <= PATH_BYTES_MAX
