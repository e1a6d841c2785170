import type { RawInsertFormat } from 'chdb'

/** The parts of an INSERT whose rows are sent separately, in the form that chDB needs. */
export interface InsertStatement {
  table: string
  columns?: string[]
  format: RawInsertFormat
}

const PATTERN = /^\s*INSERT INTO ((?:\w+\.)?\w+)(?:\s*\(([\w,\s]+)\))?\s+FORMAT (\w+)\s*$/i

const FORMATS: readonly RawInsertFormat[] = ['JSONEachRow', 'JSONCompactEachRow', 'CSV', 'TabSeparated']

/** @returns undefined for any other statement, and for an INSERT in another form */
export function findInsertStatement(query: string): InsertStatement | undefined {
  const [, table, columns, name] = PATTERN.exec(query) ?? []
  const format = FORMATS.find((one) => one === name)
  if (table === undefined || format === undefined) return undefined
  return {
    table,
    format,
    ...(columns === undefined ? {} : { columns: columns.split(',').map((column) => column.trim()) }),
  }
}
