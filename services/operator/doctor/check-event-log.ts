import { type EventLog, LOADER_GROUP } from '../../../shared/event-log/event-log.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'
import { deadLetterRepository } from '../../../shared/postgres/dead-letters.ts'
import { gatewayRepository } from '../../../shared/postgres/gateways.ts'
import { MICROS_PER_SECOND } from '../../../shared/time/microsecond-clock.ts'
import { failed, type Finding, ok, warning } from './finding.ts'

export const EVENT_LOG = 'event log'
const BEHIND_WARNING_S = 30
/** The audit has this limit, too. */
const BEHIND_FAILED_S = 300
/** The default time for which gateways accept usage without PostgreSQL. */
const BEHIND_ACCEPTED_S = 60

/** Checks how far the loaders are behind. */
export async function checkLag(log: Pick<EventLog, 'lag' | 'lowestUnread'>): Promise<Finding[]> {
  const [lags, lowest] = await Promise.all([log.lag(LOADER_GROUP), log.lowestUnread(LOADER_GROUP)])
  const records = lags.reduce((sum, { committed, end }) => sum + Math.max(0, end - committed), 0)
  const behindS =
    lowest === undefined ? 0 : Math.max(0, Math.round(Date.now() / 1_000 - lowest / MICROS_PER_SECOND))
  const says = `${records} ${records === 1 ? 'record waits' : 'records wait'} to be loaded, the oldest for ${behindS} s`
  if (behindS > BEHIND_FAILED_S)
    return [failed(EVENT_LOG, `${says}: look at the logs and metrics of the loaders`)]
  if (behindS > BEHIND_WARNING_S) return [warning(EVENT_LOG, `${says}: does a loader run?`)]
  return [ok(EVENT_LOG, records === 0 ? 'all of it is loaded' : says)]
}

/** Checks for usage that could not be counted. */
export async function checkDeadLetters(db: Queryable): Promise<Finding[]> {
  const part = 'dead letters'
  const waiting = await deadLetterRepository(db).countWaiting()
  return [
    waiting === 0
      ? ok(part, 'none wait')
      : warning(part, `${waiting} wait: npm run dead-letters -- list says why, retry puts them back`),
  ]
}

/** Checks the gateways that are registered in PostgreSQL. A gateway that fell silent holds up the list of events. */
export async function checkGateways(db: Queryable): Promise<Finding[]> {
  const part = 'gateways'
  const { renewed, silent, silentForS } = await gatewayRepository(db).count()
  if (silent > 0)
    return [
      warning(
        part,
        `${silent} fell silent: the list of events ends before the events that they may have accepted, for ${silentForS} s more`,
      ),
    ]
  return [ok(part, renewed === 0 ? 'none takes reports' : `${renewed}, all of them renewed recently`)]
}

/** Checks whether PostgreSQL's clock is behind the accepted usage: it was ahead at that time, or it is behind now. */
export async function checkAcceptance(db: Queryable): Promise<Finding[]> {
  const part = 'times of acceptance'
  const { now, reached } = await gatewayRepository(db).look()
  const behindS = Math.round((reached - now) / MICROS_PER_SECOND)
  if (behindS <= BEHIND_ACCEPTED_S) return [ok(part, 'no clock lies behind them')]
  return [
    failed(
      part,
      `PostgreSQL's clock lies ${behindS} s behind the usage that was accepted last: either it was ahead then, which needs no action, or it is behind now, and new reports are answered with 503; check it`,
    ),
  ]
}
