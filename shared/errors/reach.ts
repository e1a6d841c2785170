import { isOutOfReach } from './out-of-reach.ts'
import { StartupError } from './startup-error.ts'

/**
 * Does the work, and says which server it was when it is away or turns us down.
 *
 * @param server what it is, and the setting that says where: `ClickHouse (CLICKHOUSE_URL)`
 * @throws StartupError in one line
 */
export async function reach<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (err instanceof StartupError) throw err
    if (isOutOfReach(err))
      throw new StartupError(`a database cannot be reached: ${server}: ${describe(err)}`, { cause: err })
    if (isTurnedDown(err)) throw new StartupError(`${server} turns us down: ${describe(err)}`, { cause: err })
    throw err
  }
}

/** A wrong password or user, or no such database: PostgreSQL's classes 28 and 3D, and ClickHouse's codes. */
const TURNED_DOWN = /^(28\w{3}|3D\w{3}|192|193|194|516)$/

const isTurnedDown = (err: unknown): err is Error =>
  err instanceof Error && 'code' in err && TURNED_DOWN.test(String(err.code))

function describe(err: unknown): string {
  if (err instanceof AggregateError && err.errors.length > 0) return describe(err.errors[0])
  return err instanceof Error ? err.message : String(err)
}
