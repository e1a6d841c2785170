import { randomUUID } from 'node:crypto'
import { type ClickHouse, queryRows } from './clickhouse.ts'
import { quoteIdentifier } from './quote-identifier.ts'
import { quoteLiteral } from './quote-literal.ts'

/** No time limit: a backup may have terabytes. */
const UNLIMITED = { max_execution_time: 0 }

const KILL = "KILL QUERY WHERE Settings['log_comment'] = {comment:String} ASYNC"
const PROGRESS_EVERY_MS = 1_000

/**
 * Writes a backup of a database of the embedded engine. Its tables are of different moments, all of them after the
 * call. ClickHouse keeps a checksum of each file.
 *
 * @param to the backup's folder, absolute; it does not exist yet
 * @param base the folder of an earlier backup, whose files are not written again; this backup then needs that one
 * @param onProgress called once a second with the bytes of the database, as far as they were looked through
 * @param signal ends the backup
 */
export async function backUpDatabase(
  client: ClickHouse,
  database: string,
  { to, base }: { to: string; base: string | undefined },
  onProgress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const comment = `backup:${randomUUID()}`
  const cancel = () => {
    void client.command({ query: KILL, query_params: { comment } }).catch(() => undefined) // then it ends by itself
  }
  const timer = setInterval(() => {
    void readProgress(client, to).then(onProgress, () => undefined) // progress is shown when it can be read
  }, PROGRESS_EVERY_MS)
  signal.addEventListener('abort', cancel)
  try {
    await client.command({
      query: `BACKUP DATABASE ${quoteIdentifier(database)} TO ${fileOf(to)} ${onBase(base)}`,
      clickhouse_settings: { ...UNLIMITED, log_comment: comment },
    })
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', cancel)
  }
}

/**
 * Restores a database of the embedded engine. The database exists, and is empty.
 *
 * @param base as it was given to the backup; it may have been moved since
 * @param saved the name of the database when it was backed up
 */
export async function restoreDatabase(
  client: ClickHouse,
  database: string,
  { from, base, saved }: { from: string; base: string | undefined; saved: string },
): Promise<void> {
  await client.command({
    query: `RESTORE DATABASE ${quoteIdentifier(saved)} AS ${quoteIdentifier(database)} FROM ${fileOf(from)} ${onBase(base)}`,
    clickhouse_settings: UNLIMITED,
  })
}

async function readProgress(client: ClickHouse, to: string): Promise<number> {
  const [row] = await queryRows<{ bytes: string }>(
    client,
    'SELECT toString(total_size) AS bytes FROM system.backups WHERE name = {name:String}',
    { name: fileOf(to) },
  )
  return Number(row?.bytes ?? 0)
}

const onBase = (base: string | undefined): string =>
  base === undefined ? '' : `SETTINGS base_backup = ${fileOf(base)}`

const fileOf = (folder: string): string => `File(${quoteLiteral(folder)})`
