import { type ClickHouse, queryRows } from '../shared/clickhouse/clickhouse.ts'
import { formatTable } from '../shared/text/format-table.ts'
import { buildDataSet, untilMerged } from './data-set/build-data-set.ts'
import { openUsage } from './data-set/data-set.ts'
import { describeMachine, saveResult } from './machine.ts'
import { compare, formatCompared } from './targets.ts'

export interface BenchStorageOptions {
  events: number
  /** The folder of the data set, which is made if it is missing. */
  folder: string
  save: string
  print: (line: string) => void
}

// Only active data parts, because the sources of a merge stay on disk for some time after the merge.
const TABLES = `
  SELECT table, toUInt32(count()) AS parts, toString(sum(rows)) AS rows, toString(sum(bytes_on_disk)) AS bytes
  FROM system.parts WHERE database = currentDatabase() AND active GROUP BY table ORDER BY sum(bytes_on_disk) DESC`
const COLUMNS = `
  SELECT table, column AS name, toString(sum(column_bytes_on_disk)) AS bytes
  FROM system.parts_columns WHERE database = currentDatabase() AND active GROUP BY table, column`
const INDEXES = `
  SELECT table, concat('index ', name) AS name, toString(data_compressed_bytes + marks_bytes) AS bytes
  FROM system.data_skipping_indices WHERE database = currentDatabase()`

interface Sized {
  table: string
  name: string
  bytes: string
}

/** Columns and indexes with fewer bytes an event are not shown. */
const SHOWN_FROM = 0.05
/**
 * Keys, marks and checksums; and data parts whose columns share a file (decision 14), which ClickHouse does not split
 * by column.
 */
const THE_REST = 'the rest, parts with all columns in one file among it'

/** Measures the bytes of an event on disk after merges, by table, and by column and index. */
export async function benchStorage({ events, folder, save, print }: BenchStorageOptions): Promise<void> {
  print(describeMachine())
  const dataSet = await buildDataSet(folder, events, print)
  const opened = await openUsage(dataSet.folder)
  try {
    await untilMerged(opened.client, print)
    const { tables, columns } = await sizesOf(opened.client, events)
    const total = (wanted: (table: string) => boolean) =>
      tables.filter(({ table }) => wanted(table)).reduce((sum, { bytesAnEvent }) => sum + bytesAnEvent, 0)
    const on = `${events.toLocaleString('en-US')} events`
    const withoutRollups = total((table) => !isRollup(table))
    const compared = [
      compare({ measure: 'eventBytes', value: total((table) => table === 'usage_events'), on }),
      compare({ measure: 'allBytes', value: total(() => true), on }),
    ]
    const cells = [...tables, ...columns.filter(({ bytesAnEvent }) => bytesAnEvent >= SHOWN_FROM)].map(
      (row) => [
        row.table,
        'name' in row ? row.name : '',
        'parts' in row ? String(row.parts) : '',
        'rows' in row ? row.rows.toLocaleString('en-US') : '',
        row.bytesAnEvent.toFixed(2),
      ],
    )
    for (const line of formatTable(['table', 'column', 'parts', 'rows', 'bytes/event'], cells, 2)) print(line)
    print(`all tables without rollups: ${withoutRollups.toFixed(2)} bytes an event`)
    for (const line of formatCompared(compared)) print(line)
    await saveResult(save, { bench: 'storage', events, tables, columns, withoutRollups, compared })
  } finally {
    await opened.close()
  }
}

const isRollup = (table: string): boolean => /^usage_by_/.test(table)

async function sizesOf(client: ClickHouse, events: number) {
  const tables = await queryRows<{ table: string; parts: number; rows: string; bytes: string }>(
    client,
    TABLES,
    {},
  )
  const [columns, indexes] = [
    await queryRows<Sized>(client, COLUMNS, {}),
    await queryRows<Sized>(client, INDEXES, {}),
  ]
  const sized = [...columns, ...indexes]
  const rest = tables.map(({ table, bytes }) => {
    const ofTable = sized.filter((one) => one.table === table)
    return {
      table,
      name: THE_REST,
      bytes: String(Number(bytes) - ofTable.reduce((sum, one) => sum + Number(one.bytes), 0)),
    }
  })
  return {
    tables: tables.map(({ table, parts, rows, bytes }) => ({
      table,
      parts,
      rows: Number(rows),
      bytesAnEvent: Number(bytes) / events,
    })),
    columns: [...sized, ...rest]
      .map(({ table, name, bytes }) => ({ table, name, bytesAnEvent: Number(bytes) / events }))
      .sort((a, b) => b.bytesAnEvent - a.bytesAnEvent),
  }
}
