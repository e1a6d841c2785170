import type { ClickHouseSettings } from '@clickhouse/client'
import type { FixedUser, QueryAnswer } from '../../services/analysts/endpoint-user.ts'
import { ClickHouseException } from '../../services/analysts/exception.ts'
import { type QueryRequest, textOf } from '../../services/analysts/query-request.ts'
import type { ChdbSession } from '../../shared/clickhouse/embedded/chdb-session.ts'
import { findInsertStatement } from '../../shared/clickhouse/embedded/insert-statement.ts'
import type { EmbeddedEngine } from '../../shared/clickhouse/embedded/open-engine.ts'
import { quoteIdentifier } from '../../shared/clickhouse/quote-identifier.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'

export interface TrialOptions {
  engine: EmbeddedEngine
  database: string
  /** The secret of this trial. */
  password: string
  /** The largest number of concurrent statements; further ones wait. */
  connections: number
  bodyBytesMax: number
}

/** A user of the HTTP endpoint, so that services in separate processes can share one embedded ClickHouse. */
export interface Trial extends FixedUser, Closeable {}

const DEFAULT_FORMAT = 'TabSeparated'

/**
 * Serves any statement with all rights, instead of a ClickHouse server:
 * `CLICKHOUSE_URL=http://trial:SECRET@127.0.0.1:PORT`. Anyone with the secret can read the data and this machine's
 * files.
 */
export async function openTrial(options: TrialOptions): Promise<Trial> {
  const { engine, database, password, connections, bodyBytesMax } = options
  const sessions = await engine.openSessions({
    connections,
    setup: `USE ${quoteIdentifier(database)}`,
  })
  return {
    name: 'trial of ClickHouse',
    user: 'trial',
    password,
    bodyBytesMax,
    // As in ClickHouse, a GET cannot change anything.
    mayGet: false,
    async answer(request, _signal, send) {
      requireDatabase(request.database, database)
      await send(await sessions.use((session) => answer(session, request)))
    },
    close() {
      sessions.close()
      return Promise.resolve()
    },
  }
}

async function answer(session: ChdbSession, request: QueryRequest): Promise<QueryAnswer> {
  const settings = Object.fromEntries(request.settings) as ClickHouseSettings
  const insert = findInsertStatement(request.urlQuery)
  if (insert !== undefined) {
    const writtenRows =
      request.body.length === 0 ? 0 : await session.insertRaw({ ...insert, values: request.body }, settings)
    return { bytes: new Uint8Array(), format: insert.format, summary: () => ({ ...NOTHING, writtenRows }) }
  }
  const format = request.format ?? DEFAULT_FORMAT
  const result = await session.run({ text: textOf(request), settings, params: request.params, format })
  return {
    bytes: result.bytes(),
    format,
    summary: () => ({
      ...NOTHING,
      resultRows: result.rowsRead,
      resultBytes: result.bytesRead,
      elapsed: result.elapsed,
    }),
  }
}

const NOTHING = { resultRows: 0, resultBytes: 0, writtenRows: 0, elapsed: 0 }

function requireDatabase(asked: string | undefined, database: string): void {
  if (asked !== undefined && asked !== database)
    throw new ClickHouseException(
      'UNKNOWN_DATABASE',
      `Database ${asked} does not exist; the trial has ${database}.`,
    )
}
