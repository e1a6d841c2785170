import type { Queryable } from '../core/pool.ts'

/**
 * Locks the creation of rows in a list that is read in order of creation, until the transaction ends. Otherwise one row
 * could get an earlier time than another row, but be committed later. A reader that continues after the last id would
 * miss it.
 */
export async function lockCreation(db: Queryable, list: string, namespaceId: string): Promise<void> {
  await db.query('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', [`tally.${list}`, namespaceId])
}
