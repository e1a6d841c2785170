import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../../shared/errors/startup-error.ts'

/** A part of a backup. Its path is relative to the backup's folder. Times are UTC, with microseconds, by PostgreSQL. */
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

/** @returns undefined when the folder has no manifest, and so is no backup */
export async function findManifest(folder: string): Promise<BackupManifest | undefined> {
  const file = path.join(folder, MANIFEST)
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw err
  })
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as BackupManifest
  } catch (err) {
    throw new StartupError(`${file} is damaged: ${String(err)}`, { cause: err })
  }
}
