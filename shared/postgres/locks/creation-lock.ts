import type { Queryable } from '../core/pool.ts'

/**
 * Locks the creation of rows in a list that is read in order of creation, until the transaction ends. Otherwise a row
 * could get its time first and be committed last, and a reader that continues after the last id would miss it.
 */
export async function lockCreation(db: Queryable, list: string, namespaceId: string): Promise<void> {
  await db.query('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', [`tally.${list}`, namespaceId])
}
