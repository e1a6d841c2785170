import { setTimeout as sleep } from 'node:timers/promises'
import { type EventLog, LOADER_GROUP, type Position } from '../../shared/event-log/event-log.ts'
import { openDeadLetters, openEventLog } from '../../shared/event-log/open-event-log.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import { openServicePool } from '../../shared/postgres/core/open-service-pool.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { openLoader } from '../loader/open-loader.ts'
import { recoverUsage } from '../operator/backup/recover-usage.ts'
import type { Start } from './start.ts'

export interface RecoverOptions {
  /** What was committed before this time is stored. */
  before: Micros
  /** Whether usage that the log has dropped may be missing. */
  acceptsGaps: boolean
  print: (line: string) => void
  signal: AbortSignal
}

/** One for each statement of the loader, and one for its leases. */
const CONNECTIONS = 8
const LOOK_EVERY_MS = 200
const TELL_EVERY_MS = 2_000

/**
 * Sets the loader back, and loads the log up to its end, so that all usage is stored when this resolves. If it is
 * interrupted, every loader continues from there.
 *
 * @throws StartupError when a loader lives, or the log does not reach back
 */
export async function recover(
  start: Pick<Start, 'config' | 'engines' | 'opened' | 'log'>,
  { before, acceptsGaps, print, signal }: RecoverOptions,
): Promise<void> {
  const { config, engines, opened, log } = start
  const { statementTimeoutMs } = config.postgres
  const pool = openServicePool(
    'recover',
    CONNECTIONS,
    { url: engines.databaseUrl, statementTimeoutMs },
    opened,
    log,
  )
  const eventLog = await openEventLog(config.eventLog, {
    pool,
    alone: engines.alone,
    housekeeping: false, // it must not drop what is to be loaded again
    log,
  })
  opened.push(eventLog)
  const clickhouse = engines.clickhouse.client
  const { ends, gaps } = await recoverUsage({ pool, clickhouse, log: eventLog }, before, acceptsGaps)
  for (const gap of gaps) print(`LOST: ${gap}`)
  await loadUpTo(ends, start, { pool, eventLog }, print, signal)
}

async function loadUpTo(
  ends: readonly Position[],
  { config, engines, opened, log }: Pick<Start, 'config' | 'engines' | 'opened' | 'log'>,
  { pool, eventLog }: { pool: Pool; eventLog: EventLog },
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const deadLetterTopic = openDeadLetters(config.eventLog, log)
  if (deadLetterTopic !== undefined) opened.push(deadLetterTopic)
  const clickhouse = engines.loaderClickhouse.client
  const parts = { pool, clickhouse, eventLog, deadLetterTopic, metrics: openMetrics(), log }
  const loader = await openLoader(parts, config.loader)
  try {
    let toldAt = -Infinity
    for (;;) {
      const left = await countUnread(eventLog, ends)
      if (left === 0 || performance.now() - toldAt > TELL_EVERY_MS) {
        print(`${left} ${left === 1 ? 'record' : 'records'} of the event log left to load`)
        toldAt = performance.now()
      }
      if (left === 0) return
      await sleep(LOOK_EVERY_MS, undefined, { signal })
    }
  } finally {
    await loader.close()
  }
}

/** Counts the records before these ends that are not loaded. */
async function countUnread(eventLog: EventLog, ends: readonly Position[]): Promise<number> {
  const lag = new Map(
    (await eventLog.lag(LOADER_GROUP)).map(({ partition, committed }) => [partition, committed]),
  )
  return ends.reduce((sum, { partition, offset }) => sum + Math.max(0, offset - (lag.get(partition) ?? 0)), 0)
}
