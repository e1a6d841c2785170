import type { ReactNode } from 'react'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Canvas, Figure } from './canvas.tsx'
import { prepareTimeline, TIMELINE_BAR, type TimelineInput, type TimelineMarks } from './prepare/timeline.ts'

interface TimelinePlotProps<Row> {
  /** What is shown, for the caption and for screen readers. */
  caption: string
  input: TimelineInput
  /** What is said of a bar, by the indexes of its row and of it. */
  say: (row: number, bar: number) => ReactNode
  table: { columns: readonly Column<Row>[]; rows: readonly Row[]; keyOf: (row: Row) => string }
}

/** Bars on a line of time, in rows. Arrow keys move from bar to bar, and a table has the same times as text. */
export function TimelinePlot<Row>({ caption, input, say, table }: TimelinePlotProps<Row>) {
  return (
    <Figure
      caption={caption}
      note=", UTC"
      plot={(width) => <Timeline caption={caption} marks={prepareTimeline(input, width)} say={say} />}
      table={<DataTable caption={caption} {...table} />}
    />
  )
}

interface TimelineProps {
  caption: string
  marks: TimelineMarks
  say: (row: number, bar: number) => ReactNode
}

function Timeline({ caption, marks, say }: TimelineProps) {
  const { box, height, bars } = marks
  return (
    <Canvas
      label={caption}
      unit="bar"
      width={box.right + 4}
      height={height}
      count={bars.length}
      hasRows
      say={(index) => {
        const bar = bars[index]
        return bar !== undefined && say(bar.row, bar.bar)
      }}
      draw={(cursor, point) => (
        <>
          <Scale marks={marks} />
          {bars.map(({ row, bar: index, x, y, width, isOpenLeft, isOpenRight }, at) => (
            <g
              key={`${row} ${index}`}
              className={at === cursor ? 'plot__bar--under-cursor' : undefined}
              onPointerMove={() => point(at)}
              onPointerDown={() => point(at)}
            >
              <rect
                className={`plot__bar--${(row % 8) + 1}`}
                x={x}
                y={y}
                width={width}
                height={TIMELINE_BAR}
                rx={isOpenLeft || isOpenRight ? 0 : 2}
              />
              {isOpenRight && <path className="plot__open" d={arrowAt(x + width, y, -1)} />}
              {isOpenLeft && <path className="plot__open" d={arrowAt(x, y, 1)} />}
            </g>
          ))}
        </>
      )}
    />
  )
}

/** An arrow at the end of a bar that goes on. */
const arrowAt = (x: number, y: number, side: 1 | -1): string =>
  `M${x + 10 * side},${y + 3} L${x + 4 * side},${y + TIMELINE_BAR / 2} L${x + 10 * side},${y + TIMELINE_BAR - 3}`

function Scale({ marks: { box, labels, ticks, periods, lines } }: { marks: TimelineMarks }) {
  return (
    <>
      {periods.map((at) => (
        <line key={at} className="plot__grid" x1={at} x2={at} y1={box.top} y2={box.bottom} />
      ))}
      <line className="plot__zero" x1={box.left} x2={box.right} y1={box.bottom} y2={box.bottom} />
      {ticks.map(({ at, label }) => (
        <g key={at}>
          <line className="plot__zero" x1={at} x2={at} y1={box.bottom} y2={box.bottom + 4} />
          <text className="plot__label" x={at} y={box.bottom + 18} textAnchor="middle">
            {label}
          </text>
        </g>
      ))}
      {labels.map(({ row, y, text }) => (
        <text key={row} className="plot__label" x={box.left} y={y}>
          {text}
        </text>
      ))}
      {lines.map(({ at, label }) => (
        <g key={label}>
          <line className="plot__cursor" x1={at} x2={at} y1={box.top} y2={box.bottom} />
          <text
            className="plot__label"
            x={at}
            y={12}
            textAnchor={at < box.left + 40 ? 'start' : at > box.right - 40 ? 'end' : 'middle'}
          >
            {label}
          </text>
        </g>
      ))}
    </>
  )
}
