import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../errors/startup-error.ts'

/** One numbered SQL file. */
export interface Migration {
  /** The file's name without its ending, for example `0001_companies`. */
  name: string
  sql: string
  /** SHA-256 of the text, as hexadecimal digits. It shows whether a file was edited after its release. */
  checksum: string
}

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/

/** Reads the migrations of a folder in order of their numbers. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(path.join(folder, name), 'utf8')
      return { name: name.replace(/\.sql$/, ''), sql, checksum: hash('sha256', sql, 'hex') }
    }),
  )
}

/**
 * Picks the migrations that are still to be applied.
 *
 * @param applied checksums by name, from the database
 * @throws StartupError when a file was changed after it was applied, or when the database has a migration that is not
 *   in `files`. A newer Tally migrated such a database, and an older Tally must not write to it
 */
export function pendingMigrations(
  files: readonly Migration[],
  applied: ReadonlyMap<string, string>,
): Migration[] {
  const names = new Set(files.map(({ name }) => name))
  for (const name of applied.keys())
    if (!names.has(name))
      throw new StartupError(
        `the database was migrated by a newer version of Tally, or by one from before the first release (${name} is not known to this one)`,
      )
  for (const { name, checksum } of files) {
    const before = applied.get(name)
    if (before !== undefined && before !== checksum)
      throw new StartupError(
        `the migration ${name} was changed after it was applied: restore the released file, or the database is from before the first release`,
      )
  }
  return files.filter(({ name }) => !applied.has(name))
}
