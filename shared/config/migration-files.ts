import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { StartupError } from '../errors/startup-error.ts'
import { compareVersions, VERSION } from './version.ts'

/** One numbered SQL file. */
export interface Migration {
  /** The file's name without its ending, for example `0001_companies`. */
  name: string
  /** `expand` only adds, so that the version before runs on. `contract` removes what no version uses any more. */
  phase: 'expand' | 'contract'
  /** The oldest version that may run once the file is applied. */
  oldest: string
  sql: string
  /** SHA-256 of the text below the header, as hexadecimal digits. It shows whether a file was edited after its release. */
  checksum: string
}

/** A row of `schema_migrations`, in either database. */
export type AppliedMigration = Pick<Migration, 'name' | 'checksum' | 'oldest'>

/** The columns of `schema_migrations` that make an AppliedMigration. */
export const APPLIED_COLUMNS = 'name, checksum, oldest'

/** The value of `oldest` for files that were applied before the column existed. */
export const FIRST_VERSION = '0.1.0'

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/
const HEADER = /^-- phase: (expand|contract)\n-- oldest: (\d+\.\d+\.\d+)\n/

/**
 * Reads the migrations of a folder in order of their numbers.
 *
 * @throws when a file does not begin with its header (docs/decisions/0058-versions-run-beside-the-one-before.md)
 */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort()
  return Promise.all(
    names.map(async (file) => {
      const sql = await readFile(path.join(folder, file), 'utf8')
      const [header, phase, oldest] = HEADER.exec(sql) ?? []
      if (header === undefined || oldest === undefined)
        throw new Error(`${file} must begin with the lines -- phase: and -- oldest:`)
      return {
        name: file.replace(/\.sql$/, ''),
        phase: phase === 'contract' ? phase : 'expand',
        oldest,
        sql,
        checksum: hash('sha256', sql.slice(header.length), 'hex'),
      }
    }),
  )
}

export interface PendingOptions {
  /** Whether no process of an earlier version runs any more: then contract files of this version are picked, too. */
  contract?: boolean
  /** This version. */
  version?: string
}

/**
 * Picks the migrations that are still to be applied: those that only add, and contract files of
 * earlier versions. The database may have migrations of a later version that are not in `files`.
 *
 * @param applied what the database has
 * @throws StartupError when a file was changed after it was applied, or when the database needs a later version
 */
export function pendingMigrations(
  files: readonly Migration[],
  applied: readonly AppliedMigration[],
  { contract = false, version = VERSION }: PendingOptions = {},
): Migration[] {
  const [oldest = version] = applied.map((row) => row.oldest).sort((a, b) => compareVersions(b, a))
  if (compareVersions(oldest, version) > 0)
    throw new StartupError(`the database needs Tally ${oldest} or later, and this is ${version}`)
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]))
  for (const { name, checksum } of files)
    if ((checksums.get(name) ?? checksum) !== checksum)
      throw new StartupError(
        `the migration ${name} was changed after it was applied: restore the released file, or the database is from before the first release`,
      )
  // A contract file of an earlier version stops only versions that must not run beside this one.
  const isDue = ({ phase, oldest: from }: Migration) =>
    contract || phase === 'expand' || compareVersions(from, version) < 0
  return files.filter((file) => !checksums.has(file.name) && isDue(file))
}
