import pg from 'pg'
import { roleOf } from '../../shared/postgres/core/migrate.ts'
import { SCHEMA } from '../../shared/postgres/core/pool.ts'
import type { TestDatabase } from './postgres.ts'

/**
 * Makes reads of the open segment of a topic of the event log on PostgreSQL fail. Appends still succeed.
 *
 * @returns a function that repairs the segment
 */
export async function breakReads(database: TestDatabase, topic: string): Promise<() => Promise<void>> {
  const role = pg.escapeIdentifier(await roleOf(database.serviceUrl))
  const owner = new pg.Client({ connectionString: database.ownerUrl, options: `-c search_path=${SCHEMA}` })
  await owner.connect()
  const { rows } = await owner.query<{ id: string }>(
    'SELECT segment_id AS id FROM event_log_segments WHERE topic = $1 AND closed_at IS NULL',
    [topic],
  )
  const table = `event_log_segment_${rows[0]?.id ?? ''}`
  await owner.query(`REVOKE SELECT ON ${table} FROM ${role}`)
  return async () => {
    await owner.query(`GRANT SELECT ON ${table} TO ${role}`)
    await owner.end()
  }
}
