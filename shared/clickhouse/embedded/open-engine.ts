import type { ClickHouseSettings } from '@clickhouse/client'
import { ChdbConnection } from './chdb-connection.ts'
import { FailedOpen } from './chdb-session.ts'
import { type AnalystGrants, writeEngineConfig } from './engine-config.ts'
import { explainFailedOpen } from './explain-failed-open.ts'
import { SessionPool, type SessionPoolOptions } from './session-pool.ts'

/** How connections are opened: what runs on each, and how many they are. */
type SessionsOptions = Omit<SessionPoolOptions, 'folder' | 'engineArgs'>

/** The ClickHouse engine in this process. */
export interface EmbeddedEngine {
  folder: string
  engineArgs: readonly string[]
  /** Opens more connections to it, with settings of their own. */
  openSessions(options: SessionsOptions): Promise<SessionPool>
}

interface EngineOptions {
  folder: string
  analystGrants: AnalystGrants
  /** The number of queries that run at once. */
  connections: number
  /** Settings of every query. */
  settings: ClickHouseSettings
  /** Runs once on each connection. */
  setup: string
}

/**
 * Opens the engine of this process, or further connections to it.
 *
 * @throws StartupError in one line when the engine does not open
 */
export async function openEngine({
  folder,
  analystGrants,
  ...options
}: EngineOptions): Promise<{ engine: EmbeddedEngine; connection: ChdbConnection }> {
  const engineArgs = await writeEngineConfig(folder, analystGrants)
  const place = { folder, engineArgs }
  try {
    const connection = await ChdbConnection.open({ ...place, ...options })
    return {
      engine: { ...place, openSessions: (session) => SessionPool.open({ ...place, ...session }) },
      connection,
    }
  } catch (err) {
    if (!(err instanceof FailedOpen)) throw err
    throw await explainFailedOpen(folder, engineArgs)
  }
}
