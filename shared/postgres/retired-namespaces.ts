import type { Queryable } from './core/pool.ts'

/** A namespace that a reset has replaced. */
export interface RetiredNamespace {
  id: string
  retiredAt: Date
}

const LIST_DUE = `
  SELECT namespace_id, retired_at FROM namespaces
  WHERE empty_again_at <= clock_timestamp() AND retired_at IS NOT NULL ORDER BY empty_again_at LIMIT $1`
const LIST_RETIRED =
  'SELECT namespace_id FROM namespaces WHERE retired_at IS NOT NULL AND namespace_id = ANY ($1)'
const REMOVE_ROWS = 'SELECT empty_namespace($1, $2) AS gone'
// When late data can no longer arrive, the namespace is emptied again after a day, and then each time after twice as
// long. This never ends, because lines that are put back from the dead letters may arrive at any time.
const NOTE_EMPTIED = `
  UPDATE namespaces SET emptied_at = clock_timestamp(),
    empty_again_at = clock_timestamp() + CASE WHEN $2::boolean
      THEN greatest(interval '1 day', clock_timestamp() - retired_at) ELSE $3 * interval '1 millisecond' END
  WHERE namespace_id = $1 AND retired_at IS NOT NULL`

/** Namespaces that were reset, and the removal of their rows. */
export const retiredNamespaceRepository = (db: Queryable) => ({
  /** Lists the namespaces that have to be emptied now, again or for the first time. */
  async listDue(limit: number): Promise<RetiredNamespace[]> {
    const { rows } = await db.query<{ namespace_id: string; retired_at: Date }>(LIST_DUE, [limit])
    return rows.map(({ namespace_id: id, retired_at: retiredAt }) => ({ id, retiredAt }))
  },

  /** Lists those of the ids that are retired. */
  async listRetired(ids: readonly string[]): Promise<string[]> {
    const { rows } = await db.query<{ namespace_id: string }>(LIST_RETIRED, [ids])
    return rows.map(({ namespace_id: id }) => id)
  },

  /** Deletes some rows of a namespace in PostgreSQL. @returns the number of rows deleted; 0 when none were left */
  async removeRows(namespaceId: string, rowsMax: number): Promise<number> {
    const { rows } = await db.query<{ gone: string }>(REMOVE_ROWS, [namespaceId, rowsMax])
    return Number(rows[0]?.gone ?? 0)
  },

  /**
   * Records that a namespace was emptied.
   *
   * @param isSettled whether no more data of the namespace can arrive. If false, it is emptied again after
   *   `againAfterMs`
   */
  async noteEmptied(namespaceId: string, isSettled: boolean, againAfterMs: number): Promise<void> {
    await db.query(NOTE_EMPTIED, [namespaceId, isSettled, againAfterMs])
  },
})
