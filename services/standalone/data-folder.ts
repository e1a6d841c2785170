import { existsSync } from 'node:fs'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../shared/errors/disk-full.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import { startOf } from '../../shared/lifecycle/process-start.ts'
import { PASSWORDS_FILE } from '../../shared/postgres/embedded/embedded-postgres.ts'

/** A data folder that only this process uses, until it is closed. */
export interface DataFolder extends Closeable {
  /** The absolute path of the folder. */
  path: string
  /** Returns the path of a file or folder in the data folder. */
  join: (...names: string[]) => string
}

export const API_KEY_FILE = 'api-key'
export const TEST_API_KEY_FILE = 'test-api-key'
export const ANALYST_PASSWORD_FILE = 'analyst-password'
/** Small files with secrets, which belong to the data. */
export const SECRET_FILES = [PASSWORDS_FILE, API_KEY_FILE, TEST_API_KEY_FILE, ANALYST_PASSWORD_FILE]

/** A file that exists while a restore is under way. Until it has ended, the data are not complete. */
export const RESTORING = 'restoring'

/**
 * How long a start waits for the lock. A killed process may need a moment to end, and a restart should not fail then.
 */
const DYING_MS = 3_000
const AGAIN_MS = 50

/**
 * Other users may reach paths in the folder, but not list it. They must reach paths, because PostgreSQL runs as another
 * user when Tally runs as root.
 */
const MODE = 0o711

/**
 * Makes the data folder if it is missing, and locks it for this process, because embedded engines allow only one.
 *
 * @throws StartupError when another process uses the folder, when a restore into it did not end, or when the folder
 *   cannot be made or written
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const absolute = path.resolve(folder)
  const join = (...names: string[]) => path.join(absolute, ...names)
  try {
    await mkdir(absolute, { recursive: true, mode: MODE })
  } catch (err) {
    throw new StartupError(
      `the data folder ${absolute} cannot be made: ${String(err)}; set DATA_DIR to another`,
    )
  }
  const lock = join('lock')
  await takeLock(lock, absolute)
  if (existsSync(join(RESTORING))) {
    await rm(lock, { force: true })
    throw new StartupError(
      `a restore into ${absolute} did not end: remove ${RESTORING} and clickhouse there and, unless PostgreSQL was kept, everything else, and restore again`,
    )
  }
  return { name: 'data folder', path: absolute, join, close: () => rm(lock, { force: true }) }
}

/**
 * Takes the lock: a file with the id and the start time of its process. The id alone is not enough, because the system
 * may give it to another process later.
 */
async function takeLock(lock: string, folder: string): Promise<void> {
  const deadline = performance.now() + DYING_MS
  const mine = `${lock}.${process.pid}`
  await writeOwner(mine, folder)
  try {
    for (;;) {
      try {
        await link(mine, lock) // atomic: it fails if the lock exists
        return
      } catch (err) {
        if (!(err instanceof Error && 'code' in err && err.code === 'EEXIST')) throw err
      }
      const owner = await removeStaleLock(lock)
      if (owner !== undefined && performance.now() > deadline)
        throw new StartupError(
          `the data folder ${folder} is in use by process ${owner}: stop it, or set DATA_DIR to another`,
        )
      if (owner !== undefined) await sleep(AGAIN_MS)
    }
  } finally {
    await rm(mine, { force: true })
  }
}

async function writeOwner(file: string, folder: string): Promise<void> {
  const owner = `${process.pid} ${(await startOf(process.pid)) ?? ''}\n`
  try {
    // Flushed, so that a power cut cannot leave a lock without the id of its process.
    await writeFile(file, owner, { flush: true })
  } catch (err) {
    if (isDiskFull(err)) throw err // another folder would not help
    const code = err instanceof Error && 'code' in err ? String(err.code) : ''
    const why = ['EACCES', 'EPERM', 'EROFS'].includes(code) ? ' by this user' : `: ${String(err)}`
    throw new StartupError(`the data folder ${folder} cannot be written${why}: set DATA_DIR to another`, {
      cause: err,
    })
  }
}

/**
 * Removes the lock of a process that has ended.
 * @returns the running process that has the lock, or undefined when there is none
 */
async function removeStaleLock(lock: string): Promise<string | undefined> {
  const text = await readFile(lock, 'utf8').catch((err: unknown) => {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw new StartupError(`the lock of the data folder cannot be read: ${String(err)}`)
  })
  if (text === undefined) return undefined // its process has removed it in the meantime
  const [pid = '', ...start] = text.trim().split(' ')
  const runningSince = await startOf(Number(pid))
  if (runningSince !== undefined && runningSince === start.join(' ')) return pid
  // The file is renamed first. When two processes find one stale lock, only one can rename it, and the other tries
  // again.
  const stale = `${lock}.stale.${process.pid}`
  const moved = await rename(lock, stale).then(
    () => true,
    () => false,
  )
  if (!moved) return undefined
  const taken = await readFile(stale, 'utf8')
  if (taken !== text) await link(stale, lock).catch(() => undefined) // this is another process's new lock: put it back
  await rm(stale, { force: true })
  return undefined
}
