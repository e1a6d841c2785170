import { execFile } from 'node:child_process'
import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { StartupError } from '../../errors/startup-error.ts'
import { startOf } from '../../lifecycle/process-start.ts'
import type { Logger } from '../../logging/logger.ts'

const run = promisify(execFile)

const FAST_MS = 20_000
const IMMEDIATE_MS = 10_000

/**
 * Ends a server that outlived its Tally. After a kill -9 of Tally the server keeps running, and its lock file prevents
 * the next start. The caller must hold the lock of the data folder. Somebody may have deleted that lock while its Tally
 * still runs, so the server's owner is checked, too (Linux only).
 *
 * A process is ended only if it is a PostgreSQL server on this folder. The lock file may name another process, because
 * the system has given the process id to it. Such a lock file is removed if nothing runs in the folder.
 *
 * @param folder the server's data folder, absolute
 * @throws StartupError when the server cannot be ended, or belongs to a running process
 */
export async function endOrphanedServer(folder: string, log: Logger): Promise<void> {
  const lockFile = path.join(folder, 'postmaster.pid')
  const pid = await readPid(lockFile)
  if (pid === 'none' || (pid !== undefined && !isAlive(pid))) return // PostgreSQL itself removes a stale lock file
  if (pid !== undefined && (await isServerOf(pid, folder))) {
    const owner = await livingOwnerOf(pid)
    if (owner !== undefined)
      throw new StartupError(
        `the data folder ${path.dirname(folder)} is in use by process ${owner}, though its lock is gone: stop it, or set DATA_DIR to another`,
      )
    log.warn({ pid }, 'ending the PostgreSQL server that an earlier Tally left behind')
    await endServer(pid)
    return
  }
  const others = await processesIn(folder)
  if (others.length > 0)
    throw new StartupError(
      `${lockFile} is stale, but processes still run in that folder (${others.join(', ')}): end them and start again`,
    )
  log.warn({ pid }, 'removing a PostgreSQL lock file that names no server of this folder')
  await rm(lockFile)
}

/**
 * This variable of a server's environment names the process that started it, and when that process started. Unlike a
 * lock file, nobody can delete it.
 */
export const OWNER_VARIABLE = 'TALLY_OWNER_PROCESS'

/** The value of OWNER_VARIABLE for a server of this process. */
export const ownerText = async (): Promise<string> => `${process.pid} ${(await startOf(process.pid)) ?? ''}`

/** @returns the running process that a server belongs to; undefined when that process is gone or not known */
async function livingOwnerOf(server: number): Promise<string | undefined> {
  const environment = await readFile(`/proc/${server}/environ`, 'utf8').catch(() => '')
  const owner = environment.split('\0').find((entry) => entry.startsWith(`${OWNER_VARIABLE}=`))
  const [pid = '', ...start] = owner?.slice(OWNER_VARIABLE.length + 1).split(' ') ?? []
  const runningSince = await startOf(Number(pid))
  return runningSince !== undefined && runningSince === start.join(' ') ? pid : undefined
}

async function endServer(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT') // fast shutdown: ends sessions, writes a checkpoint
  if (await hasEnded(pid, FAST_MS)) return
  process.kill(pid, 'SIGQUIT') // immediate shutdown: the next start recovers from the log
  if (await hasEnded(pid, IMMEDIATE_MS)) return
  throw new StartupError(
    `the PostgreSQL server that an earlier Tally left behind (process ${pid}) does not end`,
  )
}

async function hasEnded(pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs
  while ((await startOf(pid)) !== undefined) {
    if (performance.now() > deadline) return false
    await sleep(50)
  }
  return true
}

/** @returns undefined when the lock file names no process, as after a power cut; `none` when there is no lock file */
async function readPid(lockFile: string): Promise<number | undefined | 'none'> {
  const text = await readFile(lockFile, 'utf8').catch((err: unknown) => {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw err
  })
  if (text === undefined) return 'none'
  const pid = Number(text.split('\n')[0])
  return Number.isInteger(pid) && pid > 1 ? pid : undefined
}

/** Whether a process with this id exists. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (err) {
    return err instanceof Error && 'code' in err && err.code === 'EPERM'
  }
}

async function isServerOf(pid: number, folder: string): Promise<boolean> {
  const command = await commandOf(pid)
  return /(^|\/)postgres(\0|\s)/.test(command) && command.includes(folder)
}

async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return run('ps', ['-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  )
}

/** Every process of a PostgreSQL server has the data folder as its working directory. Linux only. */
async function processesIn(folder: string): Promise<number[]> {
  if (process.platform !== 'linux') return []
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, index) => folders[index] === folder)
}
