import type { ReactNode } from 'react'
import type { CsvCell } from '../format/csv.ts'
import { type Period, periodText } from '../format/time.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { downloadCsv } from '../parts/download.ts'
import { Canvas, Figure } from './canvas.tsx'
import type { PlotBox, PlotSize, Tick } from './prepare/axis.ts'

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
  return (
    <Figure
      caption={caption}
      note={`, UTC ${period}s`}
      tools={
        <button
          type="button"
          className="button"
          onClick={() => {
            downloadCsv(table.fileName, table.csv)
          }}
        >
          CSV
        </button>
      }
      plot={(width) => <ByPeriod {...props} size={{ width, height: HEIGHT }} prepare={prepare} draw={draw} />}
      table={
        <DataTable
          caption={caption}
          columns={[
            { heading: HEADINGS[period], cell: ({ startAt }) => periodText(startAt, period) },
            ...table.columns,
          ]}
          rows={rows.toReversed()}
          keyOf={({ startAt }) => startAt.toString()}
        />
      }
    />
  )
}

const HEADINGS = { day: 'Day', month: 'Month' }

interface ByPeriodProps<Row extends { startAt: number }, D extends Drawing> extends PlotProps<Row> {
  size: PlotSize
  prepare: (size: PlotSize) => D
  draw: (drawing: D, cursor: number | undefined) => ReactNode
}

function ByPeriod<Row extends { startAt: number }, D extends Drawing>(props: ByPeriodProps<Row, D>) {
  const { caption, period = 'day', rows, say, onOpen, size, prepare, draw } = props
  const drawing = prepare(size)
  return (
    <Canvas
      label={`${caption} by UTC ${period}`}
      unit={period}
      {...size}
      count={rows.length}
      markAt={(x) => nearest(drawing.middles, x)}
      say={(index) => {
        const row = rows[index]
        return (
          row !== undefined && (
            <>
              <strong>{periodText(row.startAt, period)}</strong> {say(row)}
            </>
          )
        )
      }}
      onOpen={
        onOpen &&
        ((index) => {
          const row = rows[index]
          if (row !== undefined) onOpen(row)
        })
      }
      draw={(cursor) => (
        <>
          <Axes drawing={drawing} cursor={cursor} />
          {draw(drawing, cursor)}
        </>
      )}
    />
  )
}

function Axes({ drawing, cursor }: { drawing: Drawing; cursor: number | undefined }) {
  const { box, valueTicks, dayTicks, zero, middles } = drawing
  const at = cursor === undefined ? undefined : middles[cursor]
  return (
    <>
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
    </>
  )
}

/** The index of the nearest of rising numbers. */
function nearest(middles: readonly number[], x: number): number | undefined {
  let found: number | undefined
  for (const [index, middle] of middles.entries())
    if (found === undefined || Math.abs(middle - x) < Math.abs((middles[found] ?? 0) - x)) found = index
  return found
}
