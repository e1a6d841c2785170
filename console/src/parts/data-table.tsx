import './data-table.css'
import type { ReactNode } from 'react'
import { partsOf } from '../format/decimal.ts'
import { PlacesContext } from './decimal.tsx'

export interface Column<Row> {
  heading: string
  /** Numbers stand at the end of their column. */
  isNumber?: boolean
  /** The decimal in the cell of a row. The points of all stand below each other. */
  numberOf?: (row: Row) => string | null | undefined
  cell: (row: Row) => ReactNode
}

/** With more decimal places than these, a column would be too wide. */
const PLACES_MAX = 6

/** The decimal places of a column; 0 where its numbers are not aligned. */
function placesOf<Row>({ numberOf }: Column<Row>, rows: readonly Row[]): number {
  if (numberOf === undefined) return 0
  const most = rows.reduce(
    (places, row) => Math.max(places, partsOf(numberOf(row) ?? '')?.fraction.length ?? 0),
    0,
  )
  return most > PLACES_MAX ? 0 : most
}

interface DataTableProps<Row> {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  hasMore?: boolean
  isFetchingMore?: boolean
  onMore?: () => void
  /** Whether three columns or fewer need as much room as four. */
  isWide?: boolean
  /** How many rows are shown, if the table has not all of them. */
  count?: number
}

/**
 * A table. Where there is no room for its columns, each row becomes a card: the roles stand there because a change of
 * `display` would otherwise take them away.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, keyOf, isWide = false, ...paging } = props
  const kind = columns.length > 3 || isWide ? 'table table--wide' : 'table'
  const places = columns.map((column) => placesOf(column, rows))
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
                  <div className="table__cell">
                    <PlacesContext value={places[index] ?? 0}>{cell(row)}</PlacesContext>
                  </div>
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
