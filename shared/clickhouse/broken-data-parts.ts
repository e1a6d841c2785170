import { reach } from '../errors/reach.ts'
import { StartupError } from '../errors/startup-error.ts'
import type { Logger } from '../logging/logger.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'
import { rollupEpochRepository } from './rollups/rollup-epochs.ts'

/** A data part that ClickHouse could not read and has put aside. Its rows are missing from every answer. */
export interface BrokenDataPart {
  table: string
  /** The name of its folder: `broken-on-start_202611_1_28_6`. */
  name: string
  path: string
}

// The column `reason` is empty for a part that somebody detached by hand.
const BROKEN = `
  SELECT table, name, path FROM system.detached_parts
  WHERE database = currentDatabase() AND reason LIKE '%broken%' ORDER BY table, name LIMIT 1000`
const READABLE = 'SELECT 1 FROM usage_events LIMIT 0'

/** Rollups and marks. Tally can compute rollups again from the events. Marks say which rollups may lack events. */
const OF_ROLLUPS = /^usage_(by_(slot|day|month)|dirty_slots)/
/**
 * A lost part of this table makes no answer wrong. The refill service reads the table only to find corrected accounts
 * sooner. Its sweep of all accounts finds them too.
 */
const NOT_MISSED = /^corrected_usage$/

const NAMED_MAX = 3
const WHAT_TO_DO = 'docs/operations.md says what to do under "When ClickHouse has lost a part"'

/**
 * Lists the data parts that were put aside as broken.
 *
 * @internal
 */
export const listBrokenDataParts = (client: ClickHouse): Promise<BrokenDataPart[]> =>
  queryRows<BrokenDataPart>(client, BROKEN, {})

/** Lists the broken data parts that make answers wrong until an operator acts. */
export const listLostDataParts = async (client: ClickHouse): Promise<BrokenDataPart[]> =>
  (await listBrokenDataParts(client)).filter(({ table }) => !NOT_MISSED.test(table))

/**
 * Checks that no data part of Tally's tables is lost, as far as ClickHouse knows. The tables set
 * max_suspicious_broken_parts to 0, so ClickHouse puts no part aside by itself. If a part was put aside, somebody did
 * it on purpose, or changed that setting.
 *
 * @param log set by a process that keeps rollups. Then rollups that lack a part are given up, and that process computes
 *   them again. Without a log, lost parts of rollups are an error, too
 * @throws StartupError in one line, with what to do
 */
export async function requireWholeTables(client: ClickHouse, log: Logger | undefined): Promise<void> {
  const broken = await reach('ClickHouse (CLICKHOUSE_URL)', async () => {
    await queryRows(client, READABLE, {}).catch((err: unknown) => {
      throw isUnloaded(err) ? unloaded(err) : err
    })
    return listLostDataParts(client)
  })
  const ofRollups = broken.filter(({ table }) => OF_ROLLUPS.test(table))
  const others = broken.filter((part) => !ofRollups.includes(part))
  if (others.length > 0) throw lost(others)
  if (ofRollups.length === 0) return
  if (log === undefined) throw lost(ofRollups)
  const epochs = rollupEpochRepository(client)
  const now = await epochs.now()
  for (const { epoch, state } of await epochs.list())
    if (epoch > 0 && state !== 'given up') await epochs.giveUp(epoch, now)
  // The parts are dropped last. As long as they exist, no process starts with the rollups that lack them.
  for (const { table, name } of ofRollups) await dropDataPart(client, table, name)
  log.warn(
    { parts: ofRollups.map(({ table, name }) => `${table} ${name}`) },
    'data parts of rollups were lost: the rollups are computed again; until then, usage is read from the events, which is exact but slower',
  )
}

/** ClickHouse's error codes when it cannot load a table, or refuses a part of the table. */
const UNLOADED = new Set(['231', '695', '722'])

const isUnloaded = (err: unknown): err is Error =>
  err instanceof Error && 'code' in err && UNLOADED.has(String(err.code))

const unloaded = (err: Error): StartupError =>
  new StartupError(
    `ClickHouse cannot load its tables: ${err.message.split('\n', 1)[0] ?? ''}; its log names the part: ${WHAT_TO_DO}`,
    { cause: err },
  )

function lost(parts: readonly BrokenDataPart[]): StartupError {
  const named = parts.slice(0, NAMED_MAX).map(({ table, path }) => `${table} (${path})`)
  const more = parts.length > NAMED_MAX ? ` and ${parts.length - NAMED_MAX} more` : ''
  return new StartupError(
    `ClickHouse has put aside parts of its tables that it could not read: ${named.join(', ')}${more}; their rows are missing from every answer: ${WHAT_TO_DO}`,
  )
}

const PLAIN_NAME = /^[\w-]+$/

/** The part's name is written into the statement, because DROP takes no parameter for it. */
async function dropDataPart(client: ClickHouse, table: string, name: string): Promise<void> {
  for (const text of [table, name])
    if (!PLAIN_NAME.test(text)) throw new Error(`not a name of ClickHouse: ${text}`)
  await client.command({
    query: `ALTER TABLE ${table} DROP DETACHED PART '${name}' SETTINGS allow_drop_detached = 1`,
  })
}
