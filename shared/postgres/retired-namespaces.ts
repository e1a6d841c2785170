import type { Queryable } from './core/pool.ts'

/** A namespace that a reset has taken from its company. */
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
// Once nothing is left that may come late it is looked at after a day, and then each time after twice as long: lines
// that are put back out of the dead letters may come at any time.
const NOTE_EMPTIED = `
  UPDATE namespaces SET emptied_at = clock_timestamp(),
    empty_again_at = clock_timestamp() + CASE WHEN $2::boolean
      THEN greatest(interval '1 day', clock_timestamp() - retired_at) ELSE $3 * interval '1 millisecond' END
  WHERE namespace_id = $1 AND retired_at IS NOT NULL`

/** Namespaces that were reset, and the removal of what is in them. */
export const retiredNamespaceRepository = (db: Queryable) => ({
  /** Those that it is time to empty, again or for the first time. */
  async listDue(limit: number): Promise<RetiredNamespace[]> {
    const { rows } = await db.query<{ namespace_id: string; retired_at: Date }>(LIST_DUE, [limit])
    return rows.map(({ namespace_id: id, retired_at: retiredAt }) => ({ id, retiredAt }))
  },

  /** Those of the ids that are retired. */
  async listRetired(ids: readonly string[]): Promise<string[]> {
    const { rows } = await db.query<{ namespace_id: string }>(LIST_RETIRED, [ids])
    return rows.map(({ namespace_id: id }) => id)
  },

  /** Deletes some of its rows in PostgreSQL. @returns how many; 0 when none were left */
  async removeRows(namespaceId: string, rowsMax: number): Promise<number> {
    const { rows } = await db.query<{ gone: string }>(REMOVE_ROWS, [namespaceId, rowsMax])
    return Number(rows[0]?.gone ?? 0)
  },

  /**
   * Notes that it was emptied.
   *
   * @param isSettled whether nothing of it was still on its way; else it is emptied again after so long
   */
  async noteEmptied(namespaceId: string, isSettled: boolean, againAfterMs: number): Promise<void> {
    await db.query(NOTE_EMPTIED, [namespaceId, isSettled, againAfterMs])
  },
})
