import { appendFile } from 'node:fs/promises'
import path from 'node:path'
import { openClickHouse, type OpenedClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { migrateClickHouse } from '../../shared/clickhouse/migrate.ts'
import { testLog } from './log.ts'
import { makeTempFolder } from './temp-folder.ts'

/**
 * Why numbers: the engine learns when it starts which databases its analysts may read, and cannot be told of more
 * later.
 */
const DATABASES = Array.from({ length: 64 }, (_, i) => `test_${i + 1}`)

interface Engine {
  folder: string
  /** Holds the engine open for the whole run: with its last connection the engine would end. */
  anchor: OpenedClickHouse
}

let engine: Promise<Engine> | undefined
let used = 0

/** A process has one data folder of chDB, so all test files share an engine; it starts when the first one needs it. */
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

/** A database of its own for one test file, migrated. */
export async function createClickHouse(purpose: string): Promise<OpenedClickHouse> {
  const opened = await createBareClickHouse(purpose)
  await migrateClickHouse(opened, testLog)
  return opened
}

/** The same with nothing in it. */
export async function createBareClickHouse(purpose: string, connections?: number): Promise<OpenedClickHouse> {
  const { folder } = await startEngine()
  const database = DATABASES[used++]
  if (database === undefined) throw new Error('more test files than databases: raise their number')
  await appendFile(path.join(folder, '..', 'databases.txt'), `${database} ${purpose}\n`)
  return open(folder, database, connections)
}

/** Further connections to a database of a test. */
export function connectAgain({ engine, database }: OpenedClickHouse): Promise<OpenedClickHouse> {
  if (engine === undefined) throw new Error('not embedded')
  return open(engine.folder, database)
}

/** Ends the engine, if there is one. */
export async function stopClickHouse(): Promise<void> {
  await (await engine)?.anchor.close()
}
