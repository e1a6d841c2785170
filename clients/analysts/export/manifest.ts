import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import type { FileFormat } from './file-format.ts'
import { writeWholeFile } from './whole-file.ts'

export const MANIFEST_FILE = 'manifest.json'
const VERSION = 1

/** What one file holds. Times are Unix seconds, or microseconds as text. */
export interface Window {
  file: string
  /** Rows whose time is from here on, as ClickHouse writes times in UTC; null: all rows. */
  from: string | null
  /** Before this time. */
  to: string | null
  /** Rows whose occurred_at is from `hours[0]` on and before `hours[1]`, in Unix seconds; null: all of the window. */
  hours: [number, number] | null
  /** Rows whose key has a hash that leaves the remainder `part[0]` when divided by `part[1]`. */
  part: [number, number]
  /** What follows is null until the file is whole. */
  rows: number | null
  bytes: number | null
  sha256: string | null
}

/** What is exported, and how far. */
export interface Manifest {
  version: number
  url: string
  user: string
  database: string | null
  view: string
  format: FileFormat
  since: string | null
  /** The rows that are exported were changed before this time. */
  cut: string
  is_complete: boolean
  /** The `--since` of the next export. Null until this one is complete, and for views without `--since`. */
  next_since: string | null
  started_at: string
  finished_at: string | null
  rows: number
  bytes: number
  windows: Window[]
}

/** What is exported. An export of something else needs another folder. */
export type Subject = Pick<Manifest, 'url' | 'user' | 'database' | 'view' | 'format' | 'since'>

export const newManifest = (subject: Subject, cut: string, windows: Window[]): Manifest => ({
  version: VERSION,
  ...subject,
  cut,
  is_complete: false,
  next_since: null,
  started_at: new Date().toISOString(),
  finished_at: null,
  rows: 0,
  bytes: 0,
  windows,
})

/**
 * Reads the manifest of a run before.
 *
 * @returns undefined when there is none
 * @throws StartupError when the folder has another export
 */
export async function readManifest(folder: string, subject: Subject): Promise<Manifest | undefined> {
  const file = path.join(folder, MANIFEST_FILE)
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined
    throw new StartupError(`cannot read ${file}: ${err instanceof Error ? err.message : String(err)}`)
  })
  if (text === undefined) return undefined
  const manifest = parse(text)
  if (manifest?.version !== VERSION) throw new StartupError(`${file} is not a manifest of this program`)
  for (const name of Object.keys(subject) as (keyof Subject)[])
    if (manifest[name] !== subject[name])
      throw new StartupError(
        `${folder} has another export: its ${name} is ${String(manifest[name])}, not ${String(subject[name])}. Choose another --dir`,
      )
  return manifest
}

function parse(text: string): Manifest | undefined {
  try {
    return JSON.parse(text) as Manifest
  } catch {
    return undefined
  }
}

/** Replaces the manifest as a whole. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeWholeFile(path.join(folder, MANIFEST_FILE), (draft) =>
    draft.writeFile(`${JSON.stringify(manifest, undefined, 2)}\n`),
  )
}
