import { existsSync } from 'node:fs'
import { copyFile, mkdir, open, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type ClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { backUpDatabase } from '../../../shared/clickhouse/database-backup.ts'
import { eventCountRepository } from '../../../shared/clickhouse/events/event-counts.ts'
import { VERSION } from '../../../shared/config/version.ts'
import { isDiskFull } from '../../../shared/errors/disk-full.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { checkpointRepository } from '../../../shared/event-log/checkpoints.ts'
import { type EventLog, LOADER_GROUP } from '../../../shared/event-log/event-log.ts'
import { readClock } from '../../../shared/postgres/core/clock.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { writeBaseBackup } from '../../../shared/postgres/embedded/base-backup.ts'
import { usageStoreRepository } from '../../../shared/postgres/usage-store.ts'
import type { EmbeddedEngines } from '../command.ts'
import { type BackupManifest, BASE_FILE, findManifest, isPart, MANIFEST } from './backup-manifest.ts'

/** What is backed up of an installation whose ClickHouse is embedded. */
export interface BackupDeps extends EmbeddedEngines {
  pool: Pool
  clickhouse: ClickHouse
  log: EventLog
  /** The services' database in ClickHouse. */
  database: string
  dataFolder: string
  showProgress: (line: string) => void
  signal: AbortSignal
}

const TELL_EVERY_MS = 1_000

/**
 * Makes a backup of a running installation: first ClickHouse, then PostgreSQL. What ClickHouse lacks comes from the
 * event log again, but what PostgreSQL lacks comes from nowhere. If the folder has a backup already, the new one
 * replaces it, and only files of ClickHouse that changed are written. Until then the earlier one is whole.
 *
 * @param folder absolute; it is made if it is missing
 * @throws DomainError unprocessable when the folder has something else
 */
export async function takeBackup(folder: string, deps: BackupDeps): Promise<BackupManifest> {
  const manifest = await writeBackup(folder, deps)
  // From here on the new backup is the only one: no failure may remove it.
  await syncAll(folder, { deep: false })
  await removeOthers(folder, manifest)
  return manifest
}

/** Writes a backup, with its manifest last. If it fails, what it wrote is removed. */
async function writeBackup(folder: string, deps: BackupDeps): Promise<BackupManifest> {
  const { pool } = deps
  const usageStore = (await usageStoreRepository(pool).findId()) ?? ''
  const earlier = await findEarlier(folder, usageStore, deps.dataFolder)
  const stamp = (await readClock(pool)).toISOString().replace(/\W/g, '')
  const made = [`clickhouse-${stamp}`, `postgres-${stamp}`] as const
  try {
    const part = await backUpClickHouse(folder, made[0], earlier, deps)
    const postgres = await backUpPostgres(folder, made[1], deps)
    const manifest: BackupManifest = { tally: VERSION, usageStore, ...part, postgres }
    for (const name of made) await syncAll(path.join(folder, name))
    const draft = path.join(folder, `${MANIFEST}.new`)
    await writeFile(draft, `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: 0o600, flush: true })
    await rename(draft, path.join(folder, MANIFEST))
    return manifest
  } catch (err) {
    for (const name of made) await rm(path.join(folder, name), { recursive: true, force: true })
    if (isDiskFull(err))
      throw new DomainError('unprocessable', `the disk of ${folder} is full`, { cause: err })
    throw err
  }
}

/** Makes the folder, finds the backup that it has, and removes what backups that were killed have left there. */
async function findEarlier(
  folder: string,
  usageStore: string,
  dataFolder: string,
): Promise<BackupManifest | undefined> {
  const requireOutside = (inside: string, other: string) => {
    const [first] = path.relative(inside, other).split(path.sep)
    if (first !== '..')
      throw new DomainError('unprocessable', `${folder} is in the data folder: name another folder`)
  }
  requireOutside(dataFolder, folder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const data = await realpath(dataFolder).catch(() => dataFolder)
  requireOutside(data, await realpath(folder))
  const earlier = await findManifest(folder)
  if (earlier === undefined && (await readdir(folder)).length > 0)
    throw new DomainError('unprocessable', `${folder} has files but no ${MANIFEST}: name an empty folder`)
  if (earlier !== undefined && earlier.usageStore !== usageStore)
    throw new DomainError('unprocessable', `${folder} has the backup of another Tally: name another folder`)
  if (earlier !== undefined) await removeOthers(folder, earlier).catch(() => undefined) // tried again in the end
  return earlier
}

async function backUpClickHouse(
  folder: string,
  name: string,
  earlier: BackupManifest | undefined,
  { pool, clickhouse, log, database, showProgress, signal }: BackupDeps,
): Promise<Pick<BackupManifest, 'clickhouse' | 'events'>> {
  // A restore loads the log again from the last checkpoint before the backup.
  const committed = (await log.lag(LOADER_GROUP)).map((lag) => ({ ...lag, offset: lag.committed }))
  await checkpointRepository(pool, log.id).note(committed, 0)
  showProgress('counting events')
  const events = await countEvents(clickhouse, signal)
  const [row] = await queryRows<{ version: string }>(clickhouse, 'SELECT version() AS version', {})
  const base = earlier === undefined ? null : (earlier.clickhouse.base ?? earlier.clickhouse.path)
  const beganAt = await readClock(pool)
  await mkdir(path.join(folder, name), { mode: 0o700 }) // the engine's files are readable by everybody
  await backUpDatabase(
    clickhouse,
    database,
    { to: path.join(folder, name), base: base === null ? undefined : path.join(folder, base) },
    (bytes) => {
      showProgress(`ClickHouse: ${megabytes(bytes)} looked through`)
    },
    signal,
  )
  const times = { beganAt: beganAt.toISOString(), endedAt: (await readClock(pool)).toISOString() }
  return { clickhouse: { path: name, base, database, version: row?.version ?? '', ...times }, events }
}

/** Counts all events by month and namespace, each event once. */
export async function countEvents(
  clickhouse: ClickHouse,
  signal: AbortSignal,
): Promise<BackupManifest['events']> {
  const counts = eventCountRepository(clickhouse)
  const events: BackupManifest['events'] = {}
  for (const month of await counts.listMonths()) {
    signal.throwIfAborted()
    const found = await counts.count(month, 0, ANY_TIME)
    events[month] = Object.fromEntries(found.map(({ namespaceId, now }) => [namespaceId, now]))
  }
  return events
}

/** After every time of acceptance. */
const ANY_TIME = Number.MAX_SAFE_INTEGER

async function backUpPostgres(
  folder: string,
  name: string,
  { pool, dataFolder, superuserUrl, files, showProgress, signal }: BackupDeps,
): Promise<BackupManifest['postgres']> {
  if (superuserUrl === undefined) return null
  const to = path.join(folder, name)
  await mkdir(to, { mode: 0o700 })
  let toldAt = performance.now()
  const tell = (bytes: number) => {
    if (performance.now() - toldAt < TELL_EVERY_MS) return
    toldAt = performance.now()
    showProgress(`PostgreSQL: ${megabytes(bytes)} written`)
  }
  const { rows } = await pool.query<{ server_version: string }>('SHOW server_version')
  const beganAt = await readClock(pool)
  const written = await writeBaseBackup(superuserUrl, path.join(to, BASE_FILE), tell, signal)
  const times = { beganAt: beganAt.toISOString(), endedAt: (await readClock(pool)).toISOString() }
  for (const file of files)
    if (existsSync(path.join(dataFolder, file)))
      await copyFile(path.join(dataFolder, file), path.join(to, file))
  return { path: name, version: rows[0]?.server_version ?? '', ...times, ...written }
}

/** Writes everything in a folder through to the disk. */
async function syncAll(folder: string, { deep = true } = {}): Promise<void> {
  if (!existsSync(folder)) return
  for (const name of deep ? await readdir(folder, { recursive: true }) : [])
    await sync(path.join(folder, name))
  await sync(folder)
}

async function sync(file: string): Promise<void> {
  const handle = await open(file)
  await handle.sync().finally(() => handle.close())
}

/** Removes the parts of other backups: of replaced ones, and of those that were killed. */
async function removeOthers(folder: string, { clickhouse, postgres }: BackupManifest): Promise<void> {
  const needed = [clickhouse.path, clickhouse.base, postgres?.path]
  for (const name of await readdir(folder))
    if (isPart(name) && !needed.includes(name))
      await rm(path.join(folder, name), { recursive: true, force: true })
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
