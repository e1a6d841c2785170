import { appendFile } from 'node:fs/promises'
import path from 'node:path'
import { openClickHouse, type OpenedClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { migrateClickHouse } from '../../shared/clickhouse/migrate.ts'
import { testLog } from './log.ts'
import { makeTempFolder } from './temp-folder.ts'

/** Why numbers: the names of the databases that analysts may read must be fixed when the engine starts. */
const DATABASES = Array.from({ length: 64 }, (_, i) => `test_${i + 1}`)

interface Engine {
  folder: string
  /** Keeps the engine open for the whole run, because the engine ends with its last connection. */
  anchor: OpenedClickHouse
}

let engine: Promise<Engine> | undefined
let used = 0

/**
 * Starts the engine when the first test file needs it. A process can have only one data folder of chDB, so all files
 * share the engine.
 */
function startEngine(): Promise<Engine> {
  engine ??= makeTempFolder('clickhouse').then(async (made) => {
    const folder = path.join(made, 'data')
    return { folder, anchor: await open(folder, 'test_anchor') }
  })
  return engine
}

const open = (folder: string, database: string, connections = 2): Promise<OpenedClickHouse> =>
  openClickHouse({
    folder,
    database,
    connections,
    queryTimeoutS: 30,
    analystGrants: { databases: DATABASES, companiesMax: 3 },
  })

/** Makes a separate database for a test file, and migrates it. */
export async function createClickHouse(purpose: string): Promise<OpenedClickHouse> {
  const opened = await createBareClickHouse(purpose)
  await migrateClickHouse(opened, testLog)
  return opened
}

/** Makes an empty database for a test file. */
export async function createBareClickHouse(purpose: string, connections?: number): Promise<OpenedClickHouse> {
  const { folder } = await startEngine()
  const database = DATABASES[used++]
  if (database === undefined) throw new Error('more test files than databases: raise their number')
  await appendFile(path.join(folder, '..', 'databases.txt'), `${database} ${purpose}\n`)
  return open(folder, database, connections)
}

/** Opens further connections to a database of a test. */
export function connectAgain({ engine, database }: OpenedClickHouse): Promise<OpenedClickHouse> {
  if (engine === undefined) throw new Error('not embedded')
  return open(engine.folder, database)
}

/** Ends the engine, if it was started. */
export async function stopClickHouse(): Promise<void> {
  await (await engine)?.anchor.close()
}
