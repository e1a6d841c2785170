import { UsageError } from '../../../shared/errors/usage-error.ts'
import { printable } from '../../../shared/text/printable.ts'
import type { WantedColumns } from './input-line.ts'

/** The positions of the wanted columns of a CSV. */
export interface CsvLayout {
  cells: readonly number[]
  /** The names of the columns in idempotency keys. They are positions, so that a new header does not change any key. */
  columnKeys: readonly string[]
  properties: readonly { index: number; name: string }[]
  /** How many cells a record has; undefined until the first record is read. */
  count: number | undefined
}

/** @throws UsageError when a wanted column is not in the header, or is in it twice */
export function namedLayout(header: readonly string[], wanted: WantedColumns, delimiter: string): CsvLayout {
  const indexOf = (column: string) => {
    const index = header.indexOf(column)
    if (index < 0)
      throw new UsageError(
        `there is no column ${JSON.stringify(column)}; ${otherDelimiter(header, delimiter) ?? `there are ${header.map(printable).join(', ')}`}`,
      )
    if (header.includes(column, index + 1))
      throw new UsageError(`there are several columns ${JSON.stringify(column)}; use --no-header and numbers`)
    return index
  }
  return layoutOf(wanted, indexOf, header.length)
}

/** Finds another delimiter in a header that has only one cell. */
function otherDelimiter(header: readonly string[], delimiter: string): string | undefined {
  const [only = ''] = header
  const seen =
    header.length > 1
      ? undefined
      : [';', '\t', '|', ','].find((mark) => mark !== delimiter && only.includes(mark))
  return seen && `the delimiter seems to be ${seen === '\t' ? 'tab' : seen}, see --delimiter`
}

/** @throws UsageError when a wanted column is not a whole number from 1 on */
export function numberedLayout(wanted: WantedColumns): CsvLayout {
  const indexOf = (column: string) => {
    if (/^[1-9]\d{0,5}$/.test(column)) return Number(column) - 1
    throw new UsageError(`with --no-header a column is a number from 1, not ${JSON.stringify(column)}`)
  }
  return layoutOf(wanted, indexOf)
}

function layoutOf(wanted: WantedColumns, indexOf: (column: string) => number, count?: number): CsvLayout {
  const cells = wanted.cells.map(indexOf)
  return {
    cells,
    columnKeys: cells.map((index) => String(index + 1)),
    properties: wanted.properties.map(({ column, name }) => ({ index: indexOf(column), name })),
    count,
  }
}
