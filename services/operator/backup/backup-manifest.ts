import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../../shared/errors/startup-error.ts'

/** A part of a backup. Its path is relative to the backup's folder. Times are UTC, with milliseconds, by PostgreSQL. */
interface BackupPart {
  path: string
  beganAt: string
  endedAt: string
  /** The version of the database. */
  version: string
}

/** What `tally-backup.json` says of a backup. The file is written last: a folder without it is no backup. */
export interface BackupManifest {
  tally: string
  /** The id of the ClickHouse that has the usage. */
  usageStore: string
  /** `base` is the path of an earlier backup that this one needs; null when it needs none. */
  clickhouse: BackupPart & { base: string | null; database: string }
  /** Null when PostgreSQL is a server, which its own tools back up. */
  postgres: (BackupPart & { sha256: string; bytes: number }) | null
  /** The number of events as the backup of ClickHouse began, by month (`202611`) and namespace. */
  events: Record<string, Record<string, number>>
}

export const MANIFEST = 'tally-backup.json'

/** The file with PostgreSQL, in the folder of that part. Beside it are passwords and keys. */
export const BASE_FILE = 'base.tar'

const PART = /^(?:clickhouse|postgres)-\d{8}T\d{9}Z$/

/** Whether a file of a backup's folder has the name of a part. */
export const isPart = (name: unknown): boolean => typeof name === 'string' && PART.test(name)

/**
 * @returns undefined when the folder has no manifest, and so is no backup
 * @throws StartupError when the manifest is not as it was written
 */
export async function findManifest(folder: string): Promise<BackupManifest | undefined> {
  const file = path.join(folder, MANIFEST)
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw err
  })
  if (text === undefined) return undefined
  try {
    const manifest = JSON.parse(text) as BackupManifest
    const { clickhouse, postgres } = manifest
    // Paths elsewhere would be read, and written over, as parts of this backup.
    const named = [clickhouse.path, clickhouse.base ?? clickhouse.path, postgres?.path ?? clickhouse.path]
    if (!named.every(isPart)) throw new TypeError('it names parts that are none')
    return manifest
  } catch (err) {
    throw new StartupError(`${file} is damaged: ${String(err)}`, { cause: err })
  }
}
