import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { StartupError } from '../../errors/startup-error.ts'
import type { Logger } from '../../logging/logger.ts'

/** The user that the database server runs as. If undefined, the server runs as the user of this process. */
export interface OsUser {
  uid: number
  gid: number
}

const USER = 'postgres'
const run = promisify(execFile)

/**
 * Finds the user for the server. PostgreSQL refuses to run as root. If this process runs as root, the server runs as
 * the user `postgres`, which is made if it is missing.
 */
export async function findServerUser(log: Logger): Promise<OsUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const existing = await lookUp()
  if (existing !== undefined) return existing
  log.info({ user: USER }, 'making a system user for PostgreSQL, which refuses to run as root')
  const shell = ['--shell', '/usr/sbin/nologin']
  try {
    // Root's PATH may lack the folder of useradd.
    const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` }
    await run('useradd', ['--system', '--user-group', '--no-create-home', ...shell, USER], { env })
  } catch (err) {
    const advice = 'make it by hand, start Tally as another user than root, or set DATABASE_URL'
    throw new StartupError(`PostgreSQL refuses to run as root and no user ${USER} could be made: ${advice}`, {
      cause: err,
    })
  }
  const made = await lookUp()
  if (made === undefined) throw new StartupError(`the user ${USER} was made but cannot be found`)
  return made
}

/** Looks up the user in /etc/passwd. If it is not there, asks the system. */
async function lookUp(): Promise<OsUser | undefined> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const [, uid, gid] = new RegExp(`^${USER}:[^:]*:(\\d+):(\\d+):`, 'm').exec(users) ?? []
  return uid === undefined ? askSystem() : { uid: Number(uid), gid: Number(gid) }
}

async function askSystem(): Promise<OsUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', USER]), run('id', ['-g', USER])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined // id exits with 1 when there is no such user
  }
}

/**
 * Checks that a user can enter every folder on the way to a path.
 *
 * @param what names the target in the message
 * @throws StartupError that names the first folder that the user cannot enter
 */
export async function requireReachable(
  target: string,
  what: string,
  user: OsUser | undefined,
): Promise<void> {
  if (user === undefined) return
  for (const folder of ancestors(path.resolve(target))) {
    const { mode, uid, gid } = await stat(folder)
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
    if ((mode & bit) === 0)
      throw new StartupError(
        `PostgreSQL runs as the user ${USER}, who cannot enter ${folder} on the way to ${what}: allow it with ` +
          `chmod o+x ${folder}, or put ${what} elsewhere, or start Tally as another user than root`,
      )
  }
}

/** Returns the folders above a path, outermost first, without the path itself. */
function ancestors(target: string): string[] {
  const parent = path.dirname(target)
  return parent === target
    ? [target]
    : [...ancestors(parent), ...(parent === path.dirname(parent) ? [] : [parent])]
}
