import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { encodeLine, folderNameOf, parseFileName } from '../../sdk/src/reporter/internal.ts'
import { readLines } from './spool-lines.ts'

/** What a folder of the durable reporter has. Decision 52 describes its files. */
export interface SpoolStatus {
  /** The name of the folder: `live-` or `test-`, and a digest of Tally's address. */
  folder: string
  /** The id of the company; absent before the first event was sent. */
  company?: string
  /** Events that wait. */
  events: number
  bytes: number
  files: number
  /** When the oldest file was written, in Unix seconds. */
  oldest_at: number | null
  /** Events that Tally refused. */
  rejected: number
  /** Lines that a disk changed. */
  damaged: number
  /** Processes that gave a sign of life in the last minute. */
  processes: number
}

const FOLDER = /^(?:live|test)-[0-9a-f]{8}$/
const ALIVE_MS = 60_000

/** The name of the folder for one address and the mode of a key. */
export const spoolNameOf = (url: string, apiKey: string): string =>
  folderNameOf(url, apiKey.startsWith('tally_test_') ? 'test' : 'live')

/**
 * Lists the folders of a spool, one for each address and mode.
 *
 * @throws StartupError when there are none
 */
export async function listSpools(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((err: unknown) => {
    throw new StartupError(`cannot read the spool: ${err instanceof Error ? err.message : String(err)}`)
  })
  const folders = names.filter((name) => FOLDER.test(name)).sort()
  if (folders.length === 0)
    throw new StartupError(`${dir} is no spool: it has no folder such as live-0a1b2c3d`)
  return folders
}

export async function readSpool(dir: string, folder: string): Promise<SpoolStatus> {
  const at = path.join(dir, folder)
  const names = await readdir(at)
  const files = names.flatMap((name) => parseFileName(name) ?? [])
  const company = (await readFile(path.join(at, 'company'), 'utf8').catch(() => '')).trim()
  const rejected = (await readRejected(at)).flatMap((file) => file.events)
  return {
    folder,
    ...(company !== '' && { company }),
    events: files.reduce((sum, file) => sum + file.events, 0),
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    files: files.length,
    oldest_at: files.length === 0 ? null : Math.floor(Math.min(...files.map(({ madeAt }) => madeAt)) / 1_000),
    rejected: rejected.length,
    damaged: await countDamaged(at),
    processes: await countAlive(at, names),
  }
}

/** How many processes use the folder. A process touches its file each ten seconds. */
async function countAlive(at: string, names: readonly string[]): Promise<number> {
  const ages = await Promise.all(
    names
      .filter((name) => name.startsWith('alive-'))
      .map((name) =>
        stat(path.join(at, name)).then(
          ({ mtimeMs }) => Date.now() - mtimeMs,
          () => Infinity,
        ),
      ),
  )
  return ages.filter((age) => age < ALIVE_MS).length
}

async function countDamaged(at: string): Promise<number> {
  const folder = path.join(at, 'damaged')
  const texts = await Promise.all(
    (await listed(folder)).map((name) => readFile(path.join(folder, name), 'latin1')),
  )
  return texts.reduce((sum, text) => sum + text.split('\n').filter((line) => line !== '').length, 0)
}

/** An event that Tally refused. */
interface RejectedEvent {
  rejectedAt: number
  reason: string
  /** Its JSON, byte for byte. */
  event: string
}

export interface RejectedFile {
  file: string
  /** `2026-11-28`, in UTC. */
  day: string
  events: RejectedEvent[]
  /** Lines that cannot be read. */
  damaged: Buffer[]
  /** How many bytes it had. */
  size: number
}

const REJECTED = /^\{"rejected_at":(\d{1,12}),"reason":("(?:[^"\\]|\\.)*"),"event":([^]*)\}$/

/** Reads the events that were set aside, day by day. */
export async function readRejected(at: string): Promise<RejectedFile[]> {
  const folder = path.join(at, 'rejected')
  const names = (await listed(folder)).filter((name) => name.endsWith('.ndjson')).sort()
  return Promise.all(
    names.map(async (name) => {
      const file = path.join(folder, name)
      const bytes = await readFile(file)
      const { whole, damaged } = readLines(bytes)
      const events = whole.flatMap((json) => {
        const [, rejectedAt, reason, event] = REJECTED.exec(json) ?? []
        if (reason === undefined || event === undefined) {
          damaged.push(Buffer.from(encodeLine(json)))
          return []
        }
        return [{ rejectedAt: Number(rejectedAt), reason: JSON.parse(reason) as string, event }]
      })
      return { file, day: name.slice(0, 10), events, damaged, size: bytes.length }
    }),
  )
}

const listed = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])
