import { type Micros, MICROS_PER_MS } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'

/**
 * How far this database's clock may be set back without an event being missed. Time servers correct a clock by less
 * than this. The clock of a standby that takes over may differ by this much.
 */
export const CLOCK_STEP_MICROS = 1_000_000

/**
 * How far the clock of a gateway may differ from the database's clock. With a larger difference, the gateway would
 * accept events with times in the past or in the future.
 */
export const CLOCK_DIFFERENCE_MAX_MICROS = 2_000_000

/**
 * How much later than its last recorded time a crashed gateway may have accepted events. A gateway records its time
 * every second, by a clock within the allowed difference.
 */
export const TAIL_MICROS = CLOCK_STEP_MICROS + CLOCK_DIFFERENCE_MAX_MICROS

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'
const UNTIL = "clock_timestamp() + $2 * interval '1 millisecond'"

const INSERT = `
  INSERT INTO gateways (gateway_id, lowest_accepted_at, reached_at, renewed_at, counts_until)
  SELECT $1, at, at, clock_timestamp(), ${UNTIL} FROM (SELECT greatest(${NOW}, reached_acceptance()) AS at) AS began`
// If the clock was clearly set back, a crashed gateway may have accepted events for a while without this database. $3
// covers that time.
const BEGIN = `
  UPDATE gateways g SET lowest_accepted_at = began.since, reached_at = began.since, renewed_at = clock_timestamp(),
    counts_until = ${UNTIL}
  FROM (
    SELECT now, CASE WHEN now < reached - ${TAIL_MICROS} THEN reached + $3 ELSE greatest(now, reached) END AS since
    FROM (SELECT ${NOW} AS now, reached_acceptance() AS reached) AS looked) AS began
  WHERE g.gateway_id = $1 RETURNING began.since, began.now`
// A row that no longer counts is not renewed, because readers may have read past its time.
const RENEW = `
  UPDATE gateways SET lowest_accepted_at = greatest(lowest_accepted_at, $3), reached_at = greatest(reached_at, $4),
    renewed_at = clock_timestamp(), counts_until = ${UNTIL}
  WHERE gateway_id = $1 AND counts_until > clock_timestamp()
  RETURNING ${NOW} AS now, reached_acceptance() AS reached`
const KEEP_REACHED = `
  UPDATE reached_acceptance r SET reached_at = greatest(r.reached_at, gone.reached)
  FROM (SELECT max(reached_at) AS reached FROM gone) AS gone WHERE gone.reached IS NOT NULL`
const REMOVE = `
  WITH gone AS (DELETE FROM gateways WHERE gateway_id = $1 RETURNING greatest(reached_at, $2) AS reached_at) ${KEEP_REACHED}`
const FORGET = (which: string) => `
  WITH gone AS (DELETE FROM gateways WHERE ${which} RETURNING reached_at + ${TAIL_MICROS} AS reached_at) ${KEEP_REACHED}`
const FIND_EXPIRED = `
  SELECT gateway_id AS id, renewed_at::text AS "renewedAt",
    (extract(epoch FROM counts_until - renewed_at) * 1000)::float8 AS "countsForMs"
  FROM gateways WHERE counts_until < clock_timestamp()`
const FORGET_CRASHED = FORGET('gateway_id = $1 AND renewed_at = $2::timestamptz')
const FORGET_ALL = FORGET('true')
// A row whose renewal is in the future is treated as renewed just now, because its true age is unknown.
const BRING_BACK = `
  UPDATE gateways SET renewed_at = clock_timestamp(), counts_until = clock_timestamp() + (counts_until - renewed_at)
  WHERE renewed_at > clock_timestamp() + ${CLOCK_STEP_MICROS / 1_000} * interval '1 millisecond'`

const COUNT = `
  SELECT count(*) FILTER (WHERE renewed_at > clock_timestamp() - interval '15 seconds')::int AS renewed,
    count(*) FILTER (WHERE renewed_at <= clock_timestamp() - interval '15 seconds')::int AS silent,
    (extract(epoch FROM max(counts_until) FILTER (WHERE renewed_at <= clock_timestamp() - interval '15 seconds')
      - clock_timestamp()))::float8 AS silent_for_s
  FROM gateways WHERE counts_until > clock_timestamp()`
const LOOK = `SELECT ${NOW} AS now, reached_acceptance() AS reached`

/** The row of a gateway that did not renew it in time, or that seems so because the database's clock is ahead. */
export interface ExpiredGateway {
  id: string
  /** The time of the last renewal, as text with microseconds. */
  renewedAt: string
  /** How long the row counts after a renewal. */
  countsForMs: number
}

/** Stores the lowest acceptance of each gateway, and the time that the acceptances of all gateways have reached. */
export const gatewayRepository = (db: Queryable) => ({
  /** Reads the current time of the database's clock. */
  async readNow(): Promise<Micros> {
    const { rows } = await db.query<{ now: string }>(`SELECT ${NOW} AS now`)
    return Number(rows[0]?.now)
  },

  /**
   * Registers a gateway. It takes two statements, so that the watermark is read after the row became visible. A reader
   * that did not see the row cannot have read past the watermark.
   *
   * @param countsForMs how long the row counts unless it is renewed
   * @param untoldMaxMs how long a gateway accepts events when it cannot reach this database
   * @returns `since`: the time before which the gateway must accept nothing. It is `now`, or the time that acceptances
   *   have reached if that is later. `now`: the time of the database's clock
   */
  async register(
    gatewayId: string,
    countsForMs: number,
    untoldMaxMs: number,
  ): Promise<{ since: Micros; now: Micros }> {
    await db.query(BRING_BACK)
    await db.query(INSERT, [gatewayId, countsForMs])
    const untoldMax = untoldMaxMs * MICROS_PER_MS + TAIL_MICROS
    const { rows } = await db.query<{ since: string; now: string }>(BEGIN, [
      gatewayId,
      countsForMs,
      untoldMax,
    ])
    if (rows[0] === undefined) throw new Error('the row of this gateway is gone')
    return { since: Number(rows[0].since), now: Number(rows[0].now) }
  },

  /**
   * Renews the row of a gateway.
   *
   * @returns the time of the database's clock, and the time that acceptances of all gateways have reached; undefined
   *   when the row no longer counts
   */
  async renew(
    gatewayId: string,
    { lowest, reached }: { lowest: Micros; reached: Micros },
    countsForMs: number,
  ): Promise<{ now: Micros; reached: Micros } | undefined> {
    const values = [gatewayId, countsForMs, lowest, reached]
    const { rows } = await db.query<LookRow>({ name: 'renew-gateway', text: RENEW, values })
    return rows[0] === undefined ? undefined : lookFromRow(rows[0])
  },

  /**
   * Removes the row of a gateway that ends.
   * @param reached all events of the gateway were accepted before this time
   */
  async remove(gatewayId: string, reached: Micros): Promise<void> {
    await db.query(REMOVE, [gatewayId, reached])
  },

  /** Finds the rows that no longer count by this database's clock. */
  async findExpired(): Promise<ExpiredGateway[]> {
    const { rows } = await db.query<ExpiredGateway>({
      name: 'expired-gateways',
      text: FIND_EXPIRED,
      values: [],
    })
    return rows
  },

  /** Removes the row of a crashed gateway, unless it was renewed in the meantime. */
  async forgetCrashed({ id, renewedAt }: ExpiredGateway): Promise<void> {
    await db.query(FORGET_CRASHED, [id, renewedAt])
  },

  /** Removes all rows. They are of crashed gateways, because no other process takes reports. */
  async forgetAll(): Promise<void> {
    await db.query(FORGET_ALL)
  },

  /**
   * Corrects rows after this database's clock was set back. Otherwise rows that were renewed before would count until
   * the clock has reached their old times again.
   */
  async bringBack(): Promise<void> {
    await db.query(BRING_BACK)
  },

  /**
   * Counts the gateways that renew their rows, and the silent gateways, which no longer do. The rows of silent gateways
   * count for `silentForS` more seconds at most.
   */
  async count(): Promise<{ renewed: number; silent: number; silentForS: number }> {
    const { rows } = await db.query<CountRow>(COUNT)
    const [{ renewed, silent, silent_for_s: forS } = { renewed: 0, silent: 0, silent_for_s: null }] = rows
    return { renewed, silent, silentForS: Math.ceil(forS ?? 0) }
  },

  /** Reads the time that acceptances have reached, and the current time of the database's clock. */
  async look(): Promise<{ now: Micros; reached: Micros }> {
    const { rows } = await db.query<LookRow>(LOOK)
    if (rows[0] === undefined) throw new Error('the database returned no time')
    return lookFromRow(rows[0])
  },
})

interface CountRow {
  renewed: number
  silent: number
  silent_for_s: number | null
}

interface LookRow {
  now: string
  reached: string
}

const lookFromRow = ({ now, reached }: LookRow): { now: Micros; reached: Micros } => ({
  now: Number(now),
  reached: Number(reached),
})
