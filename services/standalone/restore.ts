import { existsSync } from 'node:fs'
import { copyFile, readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { openClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { restoreDatabase } from '../../shared/clickhouse/database-backup.ts'
import { explainFullDisk } from '../../shared/errors/disk-full.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { type Closeable, closeAll } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { openPool } from '../../shared/postgres/core/pool.ts'
import { unpackBaseBackup } from '../../shared/postgres/embedded/base-backup.ts'
import { retiredNamespaceRepository } from '../../shared/postgres/retired-namespaces.ts'
import { MICROS_PER_MS } from '../../shared/time/microsecond-clock.ts'
import { type BackupManifest, BASE_FILE, findManifest, MANIFEST } from '../operator/backup/backup-manifest.ts'
import { countEvents } from '../operator/backup/take-backup.ts'
import type { StandaloneConfig } from './config.ts'
import { type DataFolder, openDataFolder, RESTORING, SECRET_FILES } from './data-folder.ts'
import { type Engines, openEngines } from './engines.ts'
import { recover, type RecoverOptions } from './recover.ts'

export interface RestoreOptions extends Omit<RecoverOptions, 'before'> {
  /** Whether PostgreSQL is kept as it is, and only ClickHouse is restored. */
  keepsPostgres: boolean
}

/**
 * Restores a backup of npm run backup into config.dataDir, and loads what the event log has since then. After that
 * npm start serves. If it fails, what it made is removed.
 *
 * @param from the folder of the backup, absolute
 * @throws StartupError when the folder is no backup or lacks events, when the data folder has something already or is
 *   in use, or when the event log does not reach back
 */
export async function restoreBackup(
  from: string,
  config: StandaloneConfig,
  options: RestoreOptions,
  log: Logger,
): Promise<void> {
  const manifest = await findManifest(from)
  if (manifest === undefined) throw new StartupError(`${from} is no backup: it has no ${MANIFEST}`)
  if (config.clickhouse.url !== undefined)
    throw new StartupError(
      'ClickHouse is a server (CLICKHOUSE_URL): docs/operations.md says how to restore it',
    )
  const keepsPostgres = options.keepsPostgres || config.postgres.server !== undefined
  const folder = await openDataFolder(config.dataDir)
  const opened: Closeable[] = [folder]
  const mine: string[] = []
  let isDone = false
  try {
    mine.push(...(await requireFree(folder, keepsPostgres)))
    await writeFile(folder.join(RESTORING), '', { flush: true })
    if (!keepsPostgres) await restorePostgres(from, manifest, folder, options, log)
    await restoreClickHouse(from, manifest, config, folder, options)
    options.signal.throwIfAborted()
    options.print('starting the databases')
    const engines = await openEngines(config, folder, opened, log, (reason) => {
      log.fatal(reason)
    })
    await requireEvents(manifest, config, engines, options, log)
    const before = Date.parse(manifest.clickhouse.beganAt) * MICROS_PER_MS
    await recover({ config, engines, opened, log }, { ...options, before })
    isDone = true
  } catch (err) {
    throw explainFullDisk(err, folder.path)
  } finally {
    await closeAll(opened, log)
    for (const name of isDone ? [RESTORING] : mine)
      await rm(folder.join(name), { recursive: true, force: true })
  }
}

/** @returns the names of what a restore makes in the folder */
async function requireFree(folder: DataFolder, keepsPostgres: boolean): Promise<string[]> {
  const mine = [
    'clickhouse',
    ...(keepsPostgres ? [] : ['postgres', 'postgres.new', 'postgres.log', ...SECRET_FILES]),
  ]
  const found = (await readdir(folder.path)).filter((name) => !name.startsWith('lock'))
  const taken = keepsPostgres ? found.filter((name) => mine.includes(name)) : found
  if (taken.length > 0)
    throw new StartupError(
      `${folder.path} is not empty (${taken.sort().join(', ')}): move that away, or name another folder with --into`,
    )
  return [...mine, RESTORING]
}

async function restorePostgres(
  from: string,
  { postgres }: BackupManifest,
  folder: DataFolder,
  { print }: RestoreOptions,
  log: Logger,
): Promise<void> {
  if (postgres === null)
    throw new StartupError(`${from} has no PostgreSQL: restore the server, and set DATABASE_URL`)
  print(`restoring PostgreSQL, as it was at ${postgres.endedAt}`)
  const part = path.join(from, postgres.path)
  for (const file of SECRET_FILES)
    if (existsSync(path.join(part, file))) await copyFile(path.join(part, file), folder.join(file))
  await unpackBaseBackup(path.join(part, BASE_FILE), postgres.sha256, folder.path, log)
}

async function restoreClickHouse(
  from: string,
  { clickhouse: { path: name, base, database: saved, beganAt } }: BackupManifest,
  { clickhouse: { database, queryTimeoutS } }: StandaloneConfig,
  folder: DataFolder,
  { print }: RestoreOptions,
): Promise<void> {
  print(`restoring ClickHouse, as it was from ${beganAt} on`)
  const options = { database, queryTimeoutS, connections: 1, folder: folder.join('clickhouse') }
  const opened = await openClickHouse(options)
  try {
    await restoreDatabase(opened.client, database, {
      from: path.join(from, name),
      base: base === null ? undefined : path.join(from, base),
      saved,
    })
  } catch (err) {
    throw new StartupError(`the backup of ClickHouse cannot be restored: ${String(err)}`, { cause: err })
  } finally {
    await opened.close()
  }
}

/** Checks that each month has the events that the backup counted. Events of namespaces that were reset may be gone. */
async function requireEvents(
  manifest: BackupManifest,
  { postgres: { statementTimeoutMs } }: StandaloneConfig,
  { databaseUrl: url, rollupClickhouse }: Engines,
  { signal }: RestoreOptions,
  log: Logger,
): Promise<void> {
  const found = await countEvents(rollupClickhouse.client, signal)
  const pool = openPool({ url, name: 'tally restore', connectionsMax: 1, statementTimeoutMs, log })
  try {
    for (const [month, counts] of Object.entries(manifest.events)) {
      const fewer = Object.keys(counts).filter((id) => (counts[id] ?? 0) > (found[month]?.[id] ?? 0))
      const reset = fewer.length === 0 ? [] : await retiredNamespaceRepository(pool).listRetired(fewer)
      const lacking = fewer.filter((id) => !reset.includes(id))
      const missing = lacking.reduce((sum, id) => sum + (counts[id] ?? 0) - (found[month]?.[id] ?? 0), 0)
      if (missing > 0)
        throw new StartupError(
          `the backup lacks ${missing} events that occurred in ${month} and were counted when it began: restore another backup`,
        )
    }
  } finally {
    await pool.end()
  }
}
