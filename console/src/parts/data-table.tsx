import './data-table.css'
import type { ReactNode } from 'react'

export interface Column<Row> {
  heading: string
  /** Numbers stand at the end of their column. */
  isNumber?: boolean
  cell: (row: Row) => ReactNode
}

interface DataTableProps<Row> {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  hasMore?: boolean
  isFetchingMore?: boolean
  onMore?: () => void
  /** How many rows are shown, if the table has not all of them. */
  count?: number
}

/**
 * A table. Where there is no room for its columns, each row becomes a card: the roles stand there because a change of
 * `display` would otherwise take them away.
 */
export function DataTable<Row>({ caption, columns, rows, keyOf, ...paging }: DataTableProps<Row>) {
  const kind = columns.length > 3 ? 'table table--wide' : 'table'
  return (
    <div className="table-frame">
      <table className={kind} role="table">
        <caption className="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ heading, isNumber }, index) => (
              <th
                key={index} // two columns may be called the same, for example two accounts
                role="columnheader"
                scope="col"
                className={isNumber === true ? 'number' : undefined}
              >
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {columns.map(({ heading, isNumber, cell }, index) => (
                <td
                  key={index}
                  role="cell"
                  data-heading={heading}
                  className={isNumber === true ? 'number' : undefined}
                >
                  <div className="table__cell">{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <More count={rows.length} {...paging} />
    </div>
  )
}

interface MoreProps {
  hasMore?: boolean
  isFetchingMore?: boolean
  onMore?: () => void
  count: number
}

function More({ hasMore = false, isFetchingMore = false, onMore, count }: MoreProps) {
  if (!hasMore) return null
  return (
    <p className="table__more">
      <span>{count} shown, there are more.</span>
      <button type="button" className="button" disabled={isFetchingMore} onClick={onMore}>
        {isFetchingMore ? 'Reading…' : 'More'}
      </button>
    </p>
  )
}
