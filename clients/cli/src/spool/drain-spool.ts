import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartupError } from '../../../../shared/errors/startup-error.ts'
import { listSpools, readSpool, spoolNameOf } from '../../../reporter/spool/spool-folders.ts'
import { Tally } from '../../../sdk/src/node.ts'
import { type ReporterProblem, UsageReporter } from '../../../sdk/src/reporter/index.ts'
import type { Connection } from '../connection.ts'

/** How it ended: what is left in the spool, and what happened to the rest. */
export interface Drained {
  folder: string
  accepted: number
  rejected: number
  /** Events that are left in the folder. */
  left: number
  /** Processes that use the folder, and send their own events. */
  processes: number
}

const LOOK_EVERY_MS = 200

/**
 * The folder for one address and mode.
 *
 * @throws StartupError when the spool has none, or it belongs to another user
 */
export async function folderOf(dir: string, { url, apiKey }: Connection): Promise<string> {
  const name = spoolNameOf(url, apiKey)
  const folders = await listSpools(dir)
  if (folders.includes(name)) {
    await requireOwner(path.join(dir, name))
    return name
  }
  throw new StartupError(
    `${dir} has no events for ${url} with a key of this kind, but ${folders.join(', ')}; give the address as the program has it`,
  )
}

/** The files of another user, root too, would lock out the program that has the spool: they are for their owner only. */
async function requireOwner(folder: string): Promise<void> {
  const { uid } = await stat(folder)
  if (process.getuid === undefined || process.getuid() === uid) return
  throw new StartupError(
    `${folder} belongs to the user ${uid}: run this command as that user, such as with sudo -u '#${uid}'`,
  )
}

/**
 * Sends the events of processes that ended. Those of a process that was killed are sent a minute after its last sign of
 * life.
 *
 * @param waitMs when to end at the latest
 * @throws StartupError when Tally, or something in between, refuses all events
 */
export async function drainSpool(
  dir: string,
  connection: Connection,
  waitMs: number,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<Drained> {
  const folder = await folderOf(dir, connection)
  let blocked: ReporterProblem | undefined
  const client = new Tally(connection)
  const reporter = new UsageReporter(client, {
    spool: { dir: path.resolve(dir) },
    onProblem: (problem) => {
      if (problem.state === 'blocked') blocked = problem
      else note(problem.text)
    },
    onRejected: (event, reason) => {
      note(`refused: ${reason}: ${event}`)
    },
  })
  const endAt = performance.now() + waitMs
  // The reporter itself is one of the processes.
  const look = async () => await readSpool(dir, folder)
  let status = await look()
  while (status.events > 0 && blocked === undefined && performance.now() < endAt && !signal.aborted) {
    await sleep(LOOK_EVERY_MS)
    status = await look()
  }
  // What is left was waited for.
  const { accepted, rejected } = await reporter.close(status.events > 0 ? { deadlineMs: 0 } : {})
  const { events: left, processes } = await look()
  if (blocked !== undefined) throw new StartupError(`${blocked.text}; ${left} events are kept`)
  return { folder, accepted, rejected, left, processes }
}
