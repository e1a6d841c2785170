import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { chown, mkdir, rename } from 'node:fs/promises'
import path from 'node:path'
import { Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { StartupError } from '../../errors/startup-error.ts'
import type { Logger } from '../../logging/logger.ts'
import { findServerUser } from './os-user.ts'

/** The server keeps its WAL from here on until the connection ends, so that the backup is complete. */
const KEEP_WAL = 'CREATE_REPLICATION_SLOT tally_backup TEMPORARY PHYSICAL RESERVE_WAL'
const BASE_BACKUP = "BASE_BACKUP (LABEL 'tally', CHECKPOINT 'fast', WAL true, MANIFEST 'no')"
/** The kind of a message in the stream of BASE_BACKUP whose other bytes are a part of the archive. */
const ARCHIVE_DATA = 'd'.charCodeAt(0)

/** The connection that pg gives to a query with each part of its answer. Its types do not name it. */
interface CopySource {
  stream: { pause(): void; resume(): void }
}

/**
 * Writes a base backup of a running server as a tar file: what pg_basebackup does, which the embedded server comes
 * without. The backup is of the moment at which this function ends, and has the WAL that it needs
 * (docs/decisions/0060-a-backup-is-clickhouse-first.md).
 *
 * @param url of a superuser
 * @param file the tar file; it is made, and readable by this user alone
 * @returns the SHA-256 of the file, and its length in bytes
 */
export async function writeBaseBackup(
  url: string,
  file: string,
  onProgress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<{ sha256: string; bytes: number }> {
  const client = new pg.Client({ connectionString: url, replication: 'true' } as pg.ClientConfig)
  client.on('error', () => undefined) // the query below fails, too
  const cancel = () => void client.end()
  await client.connect()
  try {
    signal.throwIfAborted()
    signal.addEventListener('abort', cancel)
    await client.query(KEEP_WAL)
    const counted = counting(onProgress)
    const written = pipeline(
      counted.stream,
      createWriteStream(file, { mode: 0o600, flags: 'wx', flush: true }),
    )
    await Promise.all([copyOut(client, counted.stream), written])
    return counted.result()
  } finally {
    signal.removeEventListener('abort', cancel)
    await client.end()
  }
}

/** Sends the archive in the answer to BASE_BACKUP to a stream, no faster than the stream takes it, and ends it. */
async function copyOut(client: pg.Client, to: Writable): Promise<void> {
  // pg hands on what it has read already, also after the pause. So only the first full stream waits for room.
  let isPaused = false
  const query = Object.assign(new pg.Query({ text: BASE_BACKUP }), {
    handleCopyData({ chunk }: { chunk: Buffer }, { stream }: CopySource) {
      if (chunk[0] !== ARCHIVE_DATA) return
      // A copy, because pg uses the memory of the chunk again.
      if (to.write(Buffer.from(chunk.subarray(1))) || isPaused) return
      isPaused = true
      stream.pause()
      to.once('drain', () => {
        isPaused = false
        stream.resume()
      })
    },
  })
  client.query(query)
  try {
    await once(query, 'end')
    to.end()
  } catch (err) {
    to.destroy()
    throw err
  }
}

/** A stream that passes bytes on, and computes their number and SHA-256. */
function counting(onProgress: (bytes: number) => void) {
  const hash = createHash('sha256')
  let bytes = 0
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      onProgress((bytes += chunk.length))
      done(null, chunk)
    },
  })
  return { stream, result: () => ({ sha256: hash.digest('hex'), bytes }) }
}

/**
 * Unpacks a base backup into a data folder. The next start of the server brings it to the moment of the backup.
 *
 * @param dataFolder Tally's data folder, which has no `postgres` yet
 * @param sha256 the digest that writeBaseBackup returned
 * @throws StartupError when the file is not what was written, or cannot be unpacked
 */
export async function unpackBaseBackup(
  file: string,
  sha256: string,
  dataFolder: string,
  log: Logger,
): Promise<void> {
  const user = await findServerUser(log)
  const folder = path.join(dataFolder, 'postgres')
  const draft = `${folder}.new`
  await mkdir(draft, { mode: 0o700 })
  if (user !== undefined) await chown(draft, user.uid, user.gid)
  const tar = spawn('tar', ['-x', '--no-same-owner'], {
    ...user,
    cwd: draft,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let output = ''
  tar.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(tar, 'close')
  const counted = counting(() => undefined)
  const piped = await pipeline(createReadStream(file), counted.stream, tar.stdin).catch((err: unknown) => err)
  const [code] = (await ended) as [number | null]
  if (code !== 0 || piped !== undefined)
    throw new StartupError(`${file} cannot be unpacked: ${output.trim() || String(piped)}`)
  if (counted.result().sha256 !== sha256)
    throw new StartupError(`${file} is not what the backup wrote: its SHA-256 differs`)
  await rename(draft, folder)
}
