import './plot.css'
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react'
import type { CsvCell } from '../format/csv.ts'
import { type Period, periodText } from '../format/time.ts'
import { Choice } from '../parts/choice.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { downloadCsv } from '../parts/download.ts'
import { moveCursor } from './move-cursor.ts'
import type { PlotBox, PlotSize, Tick } from './prepare/axis.ts'
import { useWidth } from './use-width.ts'

/** The rows behind a plot, one for each day or month, with exact text. */
interface PlotTable<Row> {
  columns: readonly Column<Row>[]
  csv: readonly (readonly CsvCell[])[]
  fileName: string
}

export interface PlotProps<Row extends { startAt: number }> {
  /** What is shown, for the caption and for screen readers. */
  caption: string
  /** What a row is of. */
  period?: Period
  rows: readonly Row[]
  /** What a day's row says, with its unit. */
  say: (row: Row) => ReactNode
  table: PlotTable<Row>
  /** Opens a day. */
  onOpen?: ((row: Row) => void) | undefined
}

/** What a kind of plot draws. */
export interface Drawing {
  box: PlotBox
  valueTicks: readonly Tick[]
  dayTicks: readonly Tick[]
  zero: number
  /** The middle of each day's mark. */
  middles: readonly number[]
}

const HEIGHT = 220

/** A figure with a plot by day, its table, and the words of the day under the cursor. Arrow keys move the cursor. */
export function Plot<Row extends { startAt: number }, D extends Drawing>({
  prepare,
  draw,
  ...props
}: PlotProps<Row> & {
  prepare: (size: PlotSize) => D
  draw: (drawing: D, cursor: number | undefined) => ReactNode
}) {
  const { caption, period = 'day', rows, table } = props
  const [view, setView] = useState<'plot' | 'table'>('plot')
  const [ref, width] = useWidth()
  return (
    <figure className="plot">
      <figcaption className="plot__head">
        <span>
          {caption}, UTC {period}s
        </span>
        <span className="plot__tools">
          <Choice label={`Show ${caption}`} options={VIEWS} value={view} onChange={setView} />
          <button
            type="button"
            className="button"
            onClick={() => {
              downloadCsv(table.fileName, table.csv)
            }}
          >
            CSV
          </button>
        </span>
      </figcaption>
      {view === 'plot' ? (
        <div ref={ref} className="plot__frame">
          {width > 0 && <Canvas {...props} size={{ width, height: HEIGHT }} prepare={prepare} draw={draw} />}
        </div>
      ) : (
        <div className="plot__table" role="region" aria-label={`Table: ${caption}`} tabIndex={0}>
          <DataTable
            caption={caption}
            columns={[
              { heading: HEADINGS[period], cell: ({ startAt }) => periodText(startAt, period) },
              ...table.columns,
            ]}
            rows={rows.toReversed()}
            keyOf={({ startAt }) => startAt.toString()}
          />
        </div>
      )}
    </figure>
  )
}

const HEADINGS = { day: 'Day', month: 'Month' }

const VIEWS = [
  { value: 'plot', label: 'Plot' },
  { value: 'table', label: 'Table' },
] as const

interface CanvasProps<Row extends { startAt: number }, D extends Drawing> extends PlotProps<Row> {
  size: PlotSize
  prepare: (size: PlotSize) => D
  draw: (drawing: D, cursor: number | undefined) => ReactNode
}

function Canvas<Row extends { startAt: number }, D extends Drawing>(props: CanvasProps<Row, D>) {
  const { caption, period = 'day', rows, say, onOpen, size, prepare, draw } = props
  const [cursor, setCursor] = useState<number>()
  const drawing = prepare(size)
  const row = cursor === undefined ? undefined : rows[cursor]
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left
    setCursor(nearest(drawing.middles, x))
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && row !== undefined) onOpen?.(row)
    const next = moveCursor(event.key, cursor, rows.length)
    if (next === cursor) return
    event.preventDefault()
    setCursor(next)
  }
  return (
    <>
      <svg
        className={onOpen === undefined ? 'plot__svg' : 'plot__svg plot__svg--opens'}
        width={size.width}
        height={size.height}
        tabIndex={0}
        role="application"
        aria-roledescription="plot"
        aria-label={`${caption} by UTC ${period}. Arrow keys move from ${period} to ${period}.`}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setCursor(undefined)}
        onClick={() => row !== undefined && onOpen?.(row)}
        onKeyDown={press}
      >
        <Axes drawing={drawing} cursor={cursor} />
        {draw(drawing, cursor)}
      </svg>
      <p className="plot__said" role="status">
        {row === undefined ? (
          <span className="plot__hint">
            Point at a {period}, or move from {period} to {period} by arrow keys.
            {onOpen !== undefined && ' A click or Enter opens it.'}
          </span>
        ) : (
          <>
            <strong>{periodText(row.startAt, period)}</strong> {say(row)}
          </>
        )}
      </p>
    </>
  )
}

function Axes({ drawing, cursor }: { drawing: Drawing; cursor: number | undefined }) {
  const { box, valueTicks, dayTicks, zero, middles } = drawing
  const at = cursor === undefined ? undefined : middles[cursor]
  return (
    <g aria-hidden="true">
      {valueTicks.map(({ at: y, label }) => (
        <g key={label}>
          <line className="plot__grid" x1={box.left} x2={box.right} y1={y} y2={y} />
          <text className="plot__label" x={box.left - 6} y={y} dy="0.32em" textAnchor="end">
            {label}
          </text>
        </g>
      ))}
      <line className="plot__zero" x1={box.left} x2={box.right} y1={zero} y2={zero} />
      {dayTicks.map(({ at: x, label }) => (
        <text key={`${x} ${label}`} className="plot__label" x={x} y={box.bottom + 17} textAnchor="middle">
          {label}
        </text>
      ))}
      {at !== undefined && <line className="plot__cursor" x1={at} x2={at} y1={box.top} y2={box.bottom} />}
    </g>
  )
}

/** The index of the nearest of rising numbers. */
function nearest(middles: readonly number[], x: number): number | undefined {
  let found: number | undefined
  for (const [index, middle] of middles.entries())
    if (found === undefined || Math.abs(middle - x) < Math.abs((middles[found] ?? 0) - x)) found = index
  return found
}
