import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, open, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { readOrMakeSecret } from '../../config/secret-file.ts'
import { StartupError } from '../../errors/startup-error.ts'
import type { Closeable } from '../../lifecycle/close-all.ts'
import type { Logger } from '../../logging/logger.ts'
import { findPostgresBinaries, type PostgresBinaries } from './binaries.ts'
import { causeInOutput } from './cause-in-output.ts'
import { endOrphanedServer, OWNER_VARIABLE, ownerText } from './orphan.ts'
import { findServerUser, type OsUser, requireReachable } from './os-user.ts'

/** A PostgreSQL server that Tally started and that accepts connections. */
export interface EmbeddedPostgres extends Closeable {
  /** For migrations: the role that owns the tables. */
  ownerUrl: string
  /** For serving: a role that owns nothing. */
  serviceUrl: string
  /** For tests that make databases of their own. */
  superuserUrl: string
}

export interface EmbeddedPostgresOptions {
  /** Tally's data folder; it contains the server's own folder `postgres` and its log `postgres.log`. */
  dataFolder: string
  /** The maximum number of connections that the server accepts; 100 by default. */
  connectionsMax?: number
  log: Logger
  /** Called when the server ends without a request to do so. */
  onUnexpectedExit: (reason: string) => void
}

/** The file in the data folder with the passwords of the server's roles. */
export const PASSWORDS_FILE = 'postgres-passwords.json'

const DATABASE = 'tally'
const OWNER = 'tally_owner'
const SERVICE = 'tally_service'
const CONNECTIONS_MAX = 100
const START_MS = 60_000
const STOP_MS = 8_000
const LOG_BYTES_MAX = 10_000_000

const SERVER_SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '128MB',
  max_wal_size: '2GB',
  wal_compression: 'off', // large values are gzipped already
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on', // a 2xx means durable
  jit: 'off', // statements are short; JIT compilation costs more than it saves
  log_min_messages: 'warning',
  log_line_prefix: '%m [%p] ',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/**
 * Starts PostgreSQL in the data folder, which is made on first use. A server that an earlier Tally left running is
 * ended first. The caller must hold the lock of the data folder.
 *
 * @throws StartupError in one line when the server cannot be started
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options
  const folder = path.resolve(options.dataFolder, 'postgres')
  const [binaries, user] = await Promise.all([findPostgresBinaries(), findServerUser(log)])
  await requireReachable(folder, 'the data folder', user)
  await requireReachable(binaries.postgres, 'its programs', user)
  await endOrphanedServer(folder, log)
  const passwords = await readPasswords(path.resolve(options.dataFolder, PASSWORDS_FILE))
  if (!existsSync(path.join(folder, 'PG_VERSION'))) {
    log.info('making a new PostgreSQL data folder')
    await initialise(binaries, folder, passwords.superuser, user)
  }
  const port = await findFreePort()
  const logFile = path.resolve(options.dataFolder, 'postgres.log')
  const settings = { ...SERVER_SETTINGS, max_connections: String(options.connectionsMax ?? CONNECTIONS_MAX) }
  const { server, readCause } = await launch(binaries, folder, { port, ...settings }, logFile, user)
  const url = (role: string, password: string, database: string) =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${database}`
  const superuserUrl = url('postgres', passwords.superuser, 'postgres')
  try {
    await waitUntilReady(server, superuserUrl, readCause, logFile)
    await makeRolesAndDatabase(superuserUrl, passwords)
  } catch (err) {
    await stop(server)
    throw err
  }
  let closing = false
  server.once('exit', (code, signal) => {
    if (closing) return
    void readCause().then((cause) => {
      options.onUnexpectedExit(
        `PostgreSQL ended by itself (${signal ?? code ?? 'unknown'}): ${cause} (see ${logFile})`,
      )
    })
  })
  return {
    name: 'embedded PostgreSQL',
    ownerUrl: url(OWNER, passwords.owner, DATABASE),
    serviceUrl: url(SERVICE, passwords.service, DATABASE),
    superuserUrl,
    close: () => {
      closing = true
      return stop(server)
    },
  }
}

/**
 * Only PATH is passed on from this process's environment, because the rest may contain secrets and the server may run
 * as another user.
 */
const SERVER_ENV = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }

interface Passwords {
  superuser: string
  owner: string
  service: string
}

/** Reads or makes the random passwords of this folder's server, in a file that only this user can read. */
async function readPasswords(file: string): Promise<Passwords> {
  const random = () => randomBytes(24).toString('hex')
  const text = await readOrMakeSecret(file, () =>
    JSON.stringify({ superuser: random(), owner: random(), service: random() }),
  )
  return JSON.parse(text) as Passwords
}

async function initialise(
  binaries: PostgresBinaries,
  folder: string,
  password: string,
  user: OsUser | undefined,
): Promise<void> {
  // The folder has another name until initdb is done, because an interrupted initdb must not look like a finished one.
  const draft = `${folder}.new`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  const passwordFile = `${folder}-password`
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  if (user !== undefined) {
    await chown(draft, user.uid, user.gid)
    await chown(passwordFile, user.uid, user.gid)
  }
  const args = [
    `--pgdata=${draft}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
  ]
  args.push('--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C')
  try {
    const initdb = spawn(binaries.initdb, args, {
      ...user,
      cwd: '/',
      env: SERVER_ENV,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let output = ''
    initdb.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const code = await exitOf(initdb)
    if (code !== 0) throw new StartupError(`initdb could not make ${draft}: ${causeInOutput(output)}`)
    await rename(draft, folder)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

interface Launched {
  server: ChildProcess
  /** Finds why the server failed, in its output since it was launched. */
  readCause: () => Promise<string>
}

async function launch(
  binaries: PostgresBinaries,
  folder: string,
  settings: Record<string, string | number>,
  logFile: string,
  user: OsUser | undefined,
): Promise<Launched> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  )
  if (size > LOG_BYTES_MAX) await truncate(logFile)
  const begin = size > LOG_BYTES_MAX ? 0 : size
  const owner = await ownerText()
  const output = await open(logFile, 'a', 0o600)
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  try {
    // Why detached: Ctrl-C in a terminal reaches every process of the group, and the database must outlive Tally's last
    // writes. Why a file: a pipe would break when Tally is killed and the server keeps running.
    const server = spawn(binaries.postgres, ['-D', folder, ...args], {
      ...user,
      cwd: '/',
      env: { ...SERVER_ENV, [OWNER_VARIABLE]: owner },
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    })
    server.on('error', () => undefined) // the server then has no pid, which waitUntilReady sees
    return {
      server,
      readCause: () =>
        readFile(logFile).then(
          (log) => causeInOutput(log.toString('utf8', begin)),
          (err: unknown) => `its log cannot be read: ${String(err)}`,
        ),
    }
  } finally {
    await output.close()
  }
}

async function waitUntilReady(
  server: ChildProcess,
  url: string,
  readCause: Launched['readCause'],
  logFile: string,
): Promise<void> {
  const deadline = performance.now() + START_MS
  for (;;) {
    if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined)
      throw new StartupError(`PostgreSQL did not start: ${await readCause()} (see ${logFile})`)
    try {
      await withClient(url, (client) => client.query('SELECT 1'))
      return
    } catch (err) {
      if (performance.now() > deadline)
        throw new StartupError(`PostgreSQL did not start within ${START_MS / 1_000} s, see ${logFile}`, {
          cause: err,
        })
      await sleep(20)
    }
  }
}

async function makeRolesAndDatabase(superuserUrl: string, passwords: Passwords): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    for (const [role, password] of [
      [OWNER, passwords.owner],
      [SERVICE, passwords.service],
    ] as const) {
      const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role])
      if (rowCount === 0)
        await client.query(
          `CREATE ROLE ${client.escapeIdentifier(role)} LOGIN PASSWORD ${client.escapeLiteral(password)}`,
        )
    }
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE])
    if (rowCount === 0)
      await client.query(
        `CREATE DATABASE ${client.escapeIdentifier(DATABASE)} OWNER ${client.escapeIdentifier(OWNER)}`,
      )
  })
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined) // the awaited call below fails too, with a better error
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) return
  const ended = exitOf(server)
  server.kill('SIGINT') // fast shutdown
  const timer = setTimeout(() => server.kill('SIGQUIT'), STOP_MS) // immediate: the next start recovers from the log
  await ended
  clearTimeout(timer)
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new StartupError('no free port on 127.0.0.1')
  return address.port
}
