import { isOutOfReach } from './out-of-reach.ts'
import { StartupError } from './startup-error.ts'

/**
 * Does work that needs a server. If the server is out of reach or refuses access, the error names the server.
 *
 * @param server the server, and the setting of its address: `ClickHouse (CLICKHOUSE_URL)`
 * @throws StartupError in one line
 */
export async function reach<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (err instanceof StartupError) throw err
    if (isOutOfReach(err))
      throw new StartupError(`a database cannot be reached: ${server}: ${describe(err)}`, { cause: err })
    if (isTurnedDown(err))
      throw new StartupError(`${server} refuses access: ${describe(err)}`, { cause: err })
    throw err
  }
}

/**
 * Error codes for a wrong password or user, or a missing database: PostgreSQL's classes 28 and 3D, and ClickHouse's
 * codes.
 */
const TURNED_DOWN = /^(28\w{3}|3D\w{3}|192|193|194|516)$/

const isTurnedDown = (err: unknown): err is Error =>
  err instanceof Error && 'code' in err && TURNED_DOWN.test(String(err.code))

function describe(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return describe(err.errors[0])
  return err instanceof Error ? err.message : String(err)
}
