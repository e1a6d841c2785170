import { keepCompanyViews } from '../../shared/clickhouse/company-views.ts'
import { latestUsageAt } from '../../shared/clickhouse/events/latest-usage.ts'
import { type LatestSums, makeLatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { listedUpToOf } from '../../shared/event-log/listed-up-to.ts'
import { openDeadLetters, openEventLog } from '../../shared/event-log/open-event-log.ts'
import { watchDisk } from '../../shared/lifecycle/disk-space.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { openAcceptance, type OpenedAcceptance } from '../gateway/open-acceptance.ts'
import type { Loader } from '../loader/load-usage.ts'
import { openLoader } from '../loader/open-loader.ts'
import { openRefill } from '../refill/open-refill.ts'
import { keepDimensions } from '../rollup/keep-dimensions.ts'
import { keepRated } from '../rollup/keep-rated.ts'
import { noteCompleteUsage } from '../rollup/note-complete-usage.ts'
import { openRollup } from '../rollup/open-rollup.ts'
import type { Pools } from './open-pools.ts'
import { type RequiredRoom, requireRoom } from './require-room.ts'
import type { Start } from './start.ts'

/** The parts that process usage, from its acceptance to rollups and refills. */
export interface EventFlow extends OpenedAcceptance {
  eventLog: EventLog
  loader: Loader
  /** No event accepted before this time can still be stored. */
  listedUpTo: () => Promise<Micros>
  /** Undefined when ClickHouse is a server, because other processes may then write usage. */
  latestSums: LatestSums | undefined
  room: RequiredRoom
}

/** Opens the event log, and starts the work that needs no requests: loader, rollups and refills. */
export async function openEventFlow(start: Start, pools: Pools): Promise<EventFlow> {
  const { config, engines, opened, metrics, log } = start
  const accepting = await openAcceptance(
    { pool: pools.gateway, alone: engines.alone, metrics, log },
    { eventLog: config.eventLog, ...config.postgres, ...config.gateway },
    opened,
  )
  const eventLog = await openEventLog(config.eventLog, {
    pool: pools.eventLog,
    alone: engines.alone,
    housekeeping: true,
    log,
  })
  opened.push(eventLog)
  const room = await watchRoom(start)
  const { client, engine } = engines.clickhouse
  const latestSums = engine === undefined ? undefined : makeLatestSums((await latestUsageAt(client)) + 1)
  const listedUpTo = listedUpToOf({ lowestUnderWay: accepting.lowestUnderWay, eventLog })
  const flow = { ...accepting, eventLog, room, latestSums, listedUpTo }
  const loader = await startLoader(start, pools, flow)
  startFollowers(start, pools, flow)
  return { ...flow, loader }
}

/** Watches the free space on the disk of the data folder if a database is embedded, because it is stored there. */
async function watchRoom({ folder, engines, opened, metrics, log }: Start): Promise<RequiredRoom> {
  const { alone } = engines
  const isEmbedded = alone || engines.clickhouse.engine !== undefined
  const disk = isEmbedded ? await watchDisk(folder.path, { metrics, log }) : undefined
  if (disk !== undefined) opened.push(disk)
  return requireRoom(disk, alone)
}

async function startLoader(
  { config, engines, opened, metrics, log }: Start,
  pools: Pools,
  { eventLog, room, latestSums }: Omit<EventFlow, 'loader'>,
): Promise<Loader> {
  const deadLetterTopic = openDeadLetters(config.eventLog, log)
  if (deadLetterTopic !== undefined) opened.push(deadLetterTopic)
  const parts = {
    pool: pools.api,
    clickhouse: engines.loaderClickhouse.client,
    latestSums,
    eventLog,
    deadLetterTopic,
    hasRoom: room.forLoading,
    metrics,
    log,
  }
  const loader = await openLoader(parts, config.loader)
  opened.push(loader)
  return loader
}

/** Starts rollups and refills, which process loaded usage, and the loop that makes the views of companies again after resets. */
function startFollowers(
  { config, engines, opened, metrics, log }: Start,
  pools: Pools,
  { listedUpTo, latestSums }: Omit<EventFlow, 'loader'>,
): void {
  const clickhouse = engines.rollupClickhouse.client
  opened.push(openRollup({ pool: pools.rollup, clickhouse, latestSums, metrics, log }, config.rollup))
  const { database } = engines.clickhouse
  opened.push(keepCompanyViews({ pool: pools.rollup, clickhouse, database }, log))
  // On the connections of requests: a statement of the rollups may take long, and these take milliseconds.
  const dimensionParts = { pool: pools.rollup, clickhouse: engines.clickhouse.client }
  opened.push(keepDimensions({ ...dimensionParts, metrics, log }, config.rollup.dimensionsPauseMs))
  opened.push(keepRated({ ...dimensionParts, listedUpTo, metrics, log }, config.rollup.ratingEveryS))
  opened.push(noteCompleteUsage({ ...dimensionParts, listedUpTo, log }))
  const refillParts = { pool: pools.refill, clickhouse: engines.clickhouse.client, latestSums, listedUpTo }
  opened.push(openRefill({ ...refillParts, metrics, log }, config.refill))
}
