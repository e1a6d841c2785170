import type { Micros } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'

/**
 * How far this database's clock may be set back without an event being missed; time servers slew by less than that, and
 * a standby that takes over may differ by it.
 */
export const CLOCK_STEP_MICROS = 1_000_000

/**
 * How far the clock of a gateway may be from the database's: what it accepts would lie in the past, or in the future.
 */
export const CLOCK_DIFFERENCE_MAX_MICROS = 2_000_000

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'
const UNTIL = "clock_timestamp() + $2 * interval '1 millisecond'"

const INSERT = `
  INSERT INTO gateways (gateway_id, lowest_accepted_at, renewed_at, counts_until)
  VALUES ($1, ${NOW}, clock_timestamp(), ${UNTIL})`
const BEGIN = `
  UPDATE gateways SET lowest_accepted_at = ${NOW}, renewed_at = clock_timestamp(), counts_until = ${UNTIL}
  WHERE gateway_id = $1 RETURNING lowest_accepted_at AS watermark`
// A row that counts no longer is not brought back: readers may have passed it.
const RENEW = `
  UPDATE gateways SET lowest_accepted_at = greatest(lowest_accepted_at, $3), renewed_at = clock_timestamp(),
    counts_until = ${UNTIL}
  WHERE gateway_id = $1 AND counts_until > clock_timestamp() RETURNING ${NOW} AS now`
const REMOVE = 'DELETE FROM gateways WHERE gateway_id = $1'
const FORGET_CRASHED = "DELETE FROM gateways WHERE counts_until < clock_timestamp() - interval '1 hour'"
// No parameters, so that the statement's time is before its snapshot: whoever is not in the one begins after the other.
const LOWEST = `
  SELECT least(
    (SELECT min(lowest_accepted_at) FROM gateways WHERE counts_until > statement_timestamp()),
    (extract(epoch FROM statement_timestamp()) * 1000000)::bigint) AS lowest`

const COUNT = `
  SELECT count(*) FILTER (WHERE renewed_at > clock_timestamp() - interval '15 seconds')::int AS renewed,
    count(*) FILTER (WHERE renewed_at <= clock_timestamp() - interval '15 seconds')::int AS silent,
    (extract(epoch FROM max(counts_until) FILTER (WHERE renewed_at <= clock_timestamp() - interval '15 seconds')
      - clock_timestamp()))::float8 AS silent_for_s
  FROM gateways WHERE counts_until > clock_timestamp()`

/** The lowest acceptances of all gateways. */
export const gatewayRepository = (db: Queryable) => ({
  /**
   * Enters a gateway. Two statements: the watermark is taken once the row can be seen, so that a reader who did not see
   * it cannot have passed it.
   *
   * @param countsForMs for how long the row counts unless it is renewed
   * @returns the time before which the gateway must accept nothing, which is now by the database's clock
   */
  async register(gatewayId: string, countsForMs: number): Promise<Micros> {
    await db.query(FORGET_CRASHED)
    await db.query(INSERT, [gatewayId, countsForMs])
    const { rows } = await db.query<{ watermark: string }>(BEGIN, [gatewayId, countsForMs])
    if (rows[0] === undefined) throw new Error('the row of this gateway is gone')
    return Number(rows[0].watermark)
  },

  /** @returns now by the database's clock; undefined when the row no longer counts */
  async renew(gatewayId: string, lowest: Micros, countsForMs: number): Promise<Micros | undefined> {
    const values = [gatewayId, countsForMs, lowest]
    const { rows } = await db.query<{ now: string }>({ name: 'renew-gateway', text: RENEW, values })
    return rows[0] === undefined ? undefined : Number(rows[0].now)
  },

  async remove(gatewayId: string): Promise<void> {
    await db.query(REMOVE, [gatewayId])
  },

  /** How many renew their rows, how many fell silent, and for how many seconds those still count. */
  async count(): Promise<{ renewed: number; silent: number; silentForS: number }> {
    const { rows } = await db.query<{ renewed: number; silent: number; silent_for_s: number | null }>(COUNT)
    const [row] = rows
    return {
      renewed: row?.renewed ?? 0,
      silent: row?.silent ?? 0,
      silentForS: Math.ceil(row?.silent_for_s ?? 0),
    }
  },

  /** No event that any gateway appends from now on was or will be accepted before this. */
  async lowestUnderWay(): Promise<Micros> {
    const { rows } = await db.query<{ lowest: string }>(LOWEST)
    return Number(rows[0]?.lowest ?? 0) - CLOCK_STEP_MICROS
  },
})
