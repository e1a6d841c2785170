import type { Queryable } from './core/pool.ts'

/** How far a clock may run ahead. Every time that it shows must fit into 32 bits. Ten years are enough for tests. */
export const AHEAD_MAX_S = 3_653 * 86_400

const AHEAD = 'SELECT namespace_ahead_ms($1) AS ahead_ms'
const NOW = "SELECT clock_timestamp() + namespace_ahead_ms($1) * interval '1 millisecond' AS now"
// A clock is set and shown in whole seconds, so setting it to the second that it already shows changes nothing.
const SET_AHEAD = `
  INSERT INTO namespace_clocks AS c (namespace_id, ahead_ms) VALUES ($1, greatest($2::bigint, 0))
  ON CONFLICT (namespace_id) DO UPDATE
    SET ahead_ms = greatest(c.ahead_ms, excluded.ahead_ms), updated_at = clock_timestamp()
  RETURNING ahead_ms`
const RESET = `
  UPDATE namespace_clocks SET ahead_ms = 0, updated_at = clock_timestamp() WHERE namespace_id = $1`

/**
 * The clocks of namespaces: how far each runs ahead of real time. Only the clock of a test company can be ahead. A
 * caller that knows the mode should check the mode first, so that a live company costs no query.
 */
export const namespaceClockRepository = (db: Queryable) => ({
  /** Reads the current time in a namespace, by this database's clock, in any transaction or in none. */
  async now(namespaceId: string): Promise<Date> {
    const values = [namespaceId]
    const { rows } = await db.query<{ now: Date }>({ name: 'namespace-now', text: NOW, values })
    const [row] = rows
    if (row === undefined) throw new Error('the database returned no time')
    return row.now
  },

  async aheadMs(namespaceId: string): Promise<number> {
    const values = [namespaceId]
    const { rows } = await db.query<{ ahead_ms: string }>({ name: 'namespace-ahead', text: AHEAD, values })
    return Number(rows[0]?.ahead_ms ?? 0)
  },

  /**
   * Sets the clock forward, within a transaction in the namespace. A clock that is further ahead is not changed.
   *
   * @returns how far it is ahead now
   */
  async setAhead(namespaceId: string, aheadMs: number): Promise<number> {
    const { rows } = await db.query<{ ahead_ms: string }>(SET_AHEAD, [namespaceId, Math.round(aheadMs)])
    return Number(rows[0]?.ahead_ms ?? 0)
  },

  /** Sets the clock back to real time, within a transaction in the namespace. */
  async reset(namespaceId: string): Promise<void> {
    await db.query(RESET, [namespaceId])
  },
})
