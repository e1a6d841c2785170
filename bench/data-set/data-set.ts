import { readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { openClickHouse, type OpenedClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { formatEvents } from '../event-number.ts'
import type { MadeUpEvents } from './made-up-events.ts'

/** A data folder of Tally with made-up usage of 90 days, which `npm start` could serve. */
export interface DataSet extends MadeUpEvents {
  folder: string
  /** The seconds that the inserts took. */
  insertS: number
  rollupsS: number
}

/** This file is written to the data folder when the data set is complete. */
const NOTE = 'data-set.json'

export async function findDataSet(folder: string): Promise<DataSet | undefined> {
  const file = path.join(folder, NOTE)
  if (!(await stat(file).catch(() => undefined))) return undefined
  return { ...(JSON.parse(await readFile(file, 'utf8')) as DataSet), folder }
}

export const noteDataSet = (dataSet: DataSet): Promise<void> =>
  writeFile(path.join(dataSet.folder, NOTE), `${JSON.stringify(dataSet, null, 2)}\n`)

/** Opens the ClickHouse of a data folder that no Tally uses. The engine allows a process to open only one folder. */
export const openUsage = (folder: string): Promise<OpenedClickHouse> =>
  openClickHouse({
    folder: path.join(folder, 'clickhouse'),
    database: 'tally',
    connections: 2,
    queryTimeoutS: 3_600,
  })

/** The folder of the data set with this many events, in the folder of all data sets. */
export const dataSetFolder = (parent: string, events: number): string =>
  path.join(parent, formatEvents(events))
