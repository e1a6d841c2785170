import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageCompleteRepository } from '../../../shared/clickhouse/events/usage-complete.ts'
import { giveUpAllEpochs } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { checkpointRepository } from '../../../shared/event-log/checkpoints.ts'
import { type EventLog, LOADER_GROUP, type Position } from '../../../shared/event-log/event-log.ts'
import { withoutMembers } from '../../../shared/event-log/group-membership.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { eventLogRepository } from '../../../shared/postgres/event-logs.ts'
import { formatMicros } from '../../../shared/time/micros-text.ts'
import type { Micros } from '../../../shared/time/microsecond-clock.ts'

export interface RecoverDeps {
  pool: Pool
  clickhouse: ClickHouse
  log: EventLog
}

const ACCEPT = '--accept-gap goes on without it'

/** Where loaders go on, and where the log ended when that was set. */
export interface Recovery {
  from: Position[]
  ends: Position[]
  /** What the log does not have any more, one line each; empty unless the caller accepts gaps. */
  gaps: string[]
}

/**
 * Makes a ClickHouse that was restored, or that has lost usage, complete again. All rollups are given up, because they
 * may say more than the events: the tables of one backup are of different moments. The loader's offsets are set back
 * to what was committed before a time, so that loaders store again what came later. Events that are stored already
 * still count once. Answers are exact, but slow until rollups are built.
 *
 * @param before when the backup of ClickHouse began, by the clock of PostgreSQL
 * @param acceptsGaps whether usage that the log has dropped may be missing
 * @throws StartupError while a loader lives, or when the log does not reach back. Then nothing has changed
 */
export function recoverUsage(
  { pool, clickhouse, log }: RecoverDeps,
  before: Micros,
  acceptsGaps: boolean,
): Promise<Recovery> {
  return withoutMembers(pool, log.id, LOADER_GROUP, async () => {
    const { from, ends, gaps } = await findStart({ pool, log }, before)
    if (gaps.length > 0 && !acceptsGaps)
      throw new StartupError(
        ['the event log does not reach back to that time. Lost would be:', ...gaps, ACCEPT].join('\n'),
      )
    await giveUpAllEpochs(clickhouse)
    await usageCompleteRepository(clickhouse).forget()
    // Noted first: from now on, no later recovery may believe that more was loaded.
    await checkpointRepository(pool, log.id).note(from, 0)
    await log.moveTo(LOADER_GROUP, from)
    return { from, ends, gaps }
  })
}

/** Finds for each partition what was committed before a time, and what of the later records the log has dropped. */
async function findStart(
  { pool, log }: Pick<RecoverDeps, 'pool' | 'log'>,
  before: Micros,
): Promise<Recovery> {
  const byPartition = (positions: readonly Position[]) =>
    new Map(positions.map(({ partition, offset }) => [partition, offset]))
  const committed = byPartition(await checkpointRepository(pool, log.id).findBefore(before))
  const first = byPartition(await log.positionsAt(0))
  const lag = await log.lag(LOADER_GROUP)
  const gaps: string[] = []
  const from = lag.map(({ partition, committed: now }) => {
    const wanted = Math.min(now, committed.get(partition) ?? 0)
    const begin = first.get(partition) ?? 0
    if (wanted < begin) {
      const known = committed.has(partition) ? '' : ', of which some may have been loaded by then'
      gaps.push(`partition ${partition}: the records from offset ${wanted} to ${begin - 1}${known}`)
    }
    return { partition, offset: Math.max(wanted, Math.min(begin, now)) }
  })
  const inForce = await eventLogRepository(pool).findInForce()
  if (inForce !== undefined && inForce.since > before)
    gaps.push(`what was accepted until ${formatMicros(inForce.since)}: it is in another event log`)
  return { from, ends: lag.map(({ partition, end }) => ({ partition, offset: end })), gaps }
}
