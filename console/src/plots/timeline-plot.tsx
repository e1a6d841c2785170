import './plot.css'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { Choice } from '../parts/choice.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { moveCursor } from './move-cursor.ts'
import { prepareTimeline, TIMELINE_BAR, type TimelineInput, type TimelineMarks } from './prepare/timeline.ts'
import { useWidth } from './use-width.ts'

interface TimelinePlotProps<Row> {
  /** What is shown, for the caption and for screen readers. */
  caption: string
  input: TimelineInput
  /** What is said of a bar, by the indexes of its row and of it. */
  say: (row: number, bar: number) => ReactNode
  table: { columns: readonly Column<Row>[]; rows: readonly Row[]; keyOf: (row: Row) => string }
}

const VIEWS = [
  { value: 'plot', label: 'Plot' },
  { value: 'table', label: 'Table' },
] as const

/** Bars on a line of time, in rows. Arrow keys move from bar to bar, and a table has the same times as text. */
export function TimelinePlot<Row>({ caption, input, say, table }: TimelinePlotProps<Row>) {
  const [view, setView] = useState<'plot' | 'table'>('plot')
  const [ref, width] = useWidth()
  return (
    <figure className="plot">
      <figcaption className="plot__head">
        <span>{caption}, UTC</span>
        <Choice label={`Show ${caption}`} options={VIEWS} value={view} onChange={setView} />
      </figcaption>
      {view === 'plot' ? (
        <div ref={ref} className="plot__frame">
          {width > 0 && <Canvas caption={caption} marks={prepareTimeline(input, width)} say={say} />}
        </div>
      ) : (
        <DataTable caption={caption} {...table} />
      )}
    </figure>
  )
}

/** Rows stand one below the other, so the other arrows move as well. */
const SIDEWAYS: Readonly<Record<string, string>> = { ArrowUp: 'ArrowLeft', ArrowDown: 'ArrowRight' }

interface CanvasProps {
  caption: string
  marks: TimelineMarks
  say: (row: number, bar: number) => ReactNode
}

function Canvas({ caption, marks, say }: CanvasProps) {
  const [cursor, setCursor] = useState<number>()
  const { box, height, bars } = marks
  const bar = cursor === undefined ? undefined : bars[cursor]
  const press = (event: KeyboardEvent) => {
    const next = moveCursor(SIDEWAYS[event.key] ?? event.key, cursor, bars.length)
    if (next === cursor) return
    event.preventDefault()
    setCursor(next)
  }
  return (
    <>
      <svg
        className="plot__svg"
        width={box.right + 4}
        height={height}
        tabIndex={0}
        role="application"
        aria-roledescription="timeline"
        aria-label={`${caption}. Arrow keys move from bar to bar.`}
        onPointerLeave={() => setCursor(undefined)}
        onKeyDown={press}
      >
        <Scale marks={marks} />
        {bars.map(({ row, bar: index, x, y, width, isOpenLeft, isOpenRight }, at) => (
          <g
            key={`${row} ${index}`}
            className={at === cursor ? 'plot__bar--under-cursor' : undefined}
            onPointerMove={() => setCursor(at)}
            onPointerDown={() => setCursor(at)}
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
      </svg>
      <p className="plot__said" role="status">
        {bar === undefined ? (
          <span className="plot__hint">Point at a bar, or move from bar to bar by arrow keys.</span>
        ) : (
          say(bar.row, bar.bar)
        )}
      </p>
    </>
  )
}

/** An arrow at the end of a bar that goes on. */
const arrowAt = (x: number, y: number, side: 1 | -1): string =>
  `M${x + 10 * side},${y + 3} L${x + 4 * side},${y + TIMELINE_BAR / 2} L${x + 10 * side},${y + TIMELINE_BAR - 3}`

function Scale({ marks: { box, labels, ticks, periods, lines } }: { marks: TimelineMarks }) {
  return (
    <g aria-hidden="true">
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
    </g>
  )
}
