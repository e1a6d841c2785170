import { reach } from '../../errors/reach.ts'
import type { Pool } from './pool.ts'
import { requireHarmlessRole } from './require-harmless-role.ts'
import { requirePostgresSchema } from './require-schema.ts'

/**
 * Checks that a service can work on a PostgreSQL server: the server answers, is migrated, and restricts the services'
 * role.
 *
 * @throws StartupError in one line when the service cannot work
 */
export const requirePostgresServer = (url: string, pool: Pool): Promise<void> =>
  reach('PostgreSQL (DATABASE_URL)', async () => {
    await requireHarmlessRole(url)
    await requirePostgresSchema(pool)
  })
