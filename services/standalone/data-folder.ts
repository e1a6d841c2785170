import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../shared/errors/disk-full.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import { startOf } from '../../shared/lifecycle/process-start.ts'

/** A data folder that only we use, until it is closed. */
export interface DataFolder extends Closeable {
  /** Absolute. */
  path: string
  /** A file or folder in it. */
  join: (...names: string[]) => string
}

/** A process that was killed may take a moment to be gone: a restart should not fail for that. */
const DYING_MS = 3_000
const AGAIN_MS = 50

/** Others may pass through (PostgreSQL's server runs as another user when we are root), but not look around. */
const MODE = 0o711

/**
 * Makes the data folder if it is missing, and takes it for this process: embedded engines bear only one.
 *
 * @throws StartupError when another process has it, or when it cannot be made or written
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
  return { name: 'data folder', path: absolute, join, close: () => rm(lock, { force: true }) }
}

/** The lock is a file that names its process and when that started: a number alone may have been given out again. */
async function takeLock(lock: string, folder: string): Promise<void> {
  const deadline = performance.now() + DYING_MS
  const mine = `${lock}.${process.pid}`
  await writeOwner(mine, folder)
  try {
    for (;;) {
      try {
        await link(mine, lock) // fails when the lock exists, in one step
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
    await writeFile(file, owner, { flush: true }) // not even a power cut leaves a lock that names nobody
  } catch (err) {
    if (isDiskFull(err)) throw err // another folder is not what is needed
    const code = err instanceof Error && 'code' in err ? String(err.code) : ''
    const why = ['EACCES', 'EPERM', 'EROFS'].includes(code) ? ' by this user' : `: ${String(err)}`
    throw new StartupError(`the data folder ${folder} cannot be written${why}: set DATA_DIR to another`, {
      cause: err,
    })
  }
}

/** @returns the process that holds the lock, or undefined when nobody did */
async function removeStaleLock(lock: string): Promise<string | undefined> {
  const text = await readFile(lock, 'utf8').catch((err: unknown) => {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw new StartupError(`the lock of the data folder cannot be read: ${String(err)}`)
  })
  if (text === undefined) return undefined // it was given back meanwhile
  const [pid = '', ...start] = text.trim().split(' ')
  const runningSince = await startOf(Number(pid))
  if (runningSince !== undefined && runningSince === start.join(' ')) return pid
  // Renamed first: of two processes that find the same stale lock, one gets it, and the other looks again.
  const stale = `${lock}.stale.${process.pid}`
  const moved = await rename(lock, stale).then(
    () => true,
    () => false,
  )
  if (!moved) return undefined
  const taken = await readFile(stale, 'utf8')
  if (taken !== text) await link(stale, lock).catch(() => undefined) // it was a new one: put it back
  await rm(stale, { force: true })
  return undefined
}
