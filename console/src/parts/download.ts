import { type CsvCell, csvText } from '../format/csv.ts'

const REVOKE_AFTER_MS = 60_000

/** Has the browser save a table as a CSV file. It is made here, so no request is sent. */
export function downloadCsv(name: string, rows: readonly (readonly CsvCell[])[]): void {
  const url = URL.createObjectURL(new Blob([csvText(rows)], { type: 'text/csv;charset=utf-8' }))
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name
  anchor.click()
  // Later: the browser reads the file after the click.
  setTimeout(() => {
    URL.revokeObjectURL(url)
  }, REVOKE_AFTER_MS)
}
