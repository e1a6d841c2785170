import './plot.css'
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react'
import { Choice } from '../parts/choice.tsx'
import { moveCursor } from './move-cursor.ts'
import { useWidth } from './use-width.ts'

const VIEWS = [
  { value: 'plot', label: 'Plot' },
  { value: 'table', label: 'Table' },
] as const

interface FigureProps {
  caption: string
  /** What the caption adds for the eye, such as that days are UTC. */
  note?: string
  /** What stands beside the choice of plot or table. */
  tools?: ReactNode
  /** Whether the frame is as high as the plot, whatever the plot is. */
  isLow?: boolean
  /** Draws the plot in the width that is there. */
  plot: (width: number) => ReactNode
  /** The rows behind the plot, with exact text. */
  table: ReactNode
}

/** A figure with a plot and its table. */
export function Figure({ caption, note = '', tools, isLow = false, plot, table }: FigureProps) {
  const [view, setView] = useState<'plot' | 'table'>('plot')
  const [ref, width] = useWidth()
  return (
    <figure className="plot">
      <figcaption className="plot__head">
        <span>
          {caption}
          {note}
        </span>
        <span className="plot__tools">
          <Choice label={`Show ${caption}`} options={VIEWS} value={view} onChange={setView} />
          {tools}
        </span>
      </figcaption>
      {view === 'plot' ? (
        <div ref={ref} className={isLow ? 'plot__frame plot__frame--low' : 'plot__frame'}>
          {width > 0 && plot(width)}
        </div>
      ) : (
        <div className="plot__table" role="region" aria-label={`Table: ${caption}`} tabIndex={0}>
          {table}
        </div>
      )}
    </figure>
  )
}

const SIDEWAYS: Readonly<Record<string, string>> = { ArrowUp: 'ArrowLeft', ArrowDown: 'ArrowRight' }

interface CanvasProps {
  /** What is shown, for screen readers. */
  label: string
  /** What arrow keys move between. */
  unit: string
  width: number
  height: number
  /** How many marks the cursor moves between. */
  count: number
  /** Whether marks stand one below the other too, so that the arrows up and down move as well. */
  hasRows?: boolean
  /** The mark at a place; undefined where marks follow the pointer themselves. */
  markAt?: (x: number) => number | undefined
  say: (index: number) => ReactNode
  /** Opens a mark, by a click or Enter. */
  onOpen?: ((index: number) => void) | undefined
  draw: (cursor: number | undefined, point: (index: number) => void) => ReactNode
}

/** A drawing with a cursor that the pointer and arrow keys move, and the words of the mark under it. */
export function Canvas(props: CanvasProps) {
  const { label, unit, width, height, count, hasRows = false, markAt, say, onOpen, draw } = props
  const [moved, setCursor] = useState<number>()
  const cursor = moved === undefined || moved >= count ? undefined : moved
  const point = (event: PointerEvent<SVGSVGElement>) => {
    if (markAt !== undefined)
      setCursor(markAt(event.clientX - event.currentTarget.getBoundingClientRect().left))
  }
  const open = () => {
    if (cursor !== undefined) onOpen?.(cursor)
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter') open()
    const key = hasRows ? (SIDEWAYS[event.key] ?? event.key) : event.key
    const next = moveCursor(key, cursor, count)
    if (next === cursor) return
    event.preventDefault()
    setCursor(next)
  }
  return (
    <>
      <svg
        className={onOpen === undefined ? 'plot__svg' : 'plot__svg plot__svg--opens'}
        width={width}
        height={height}
        tabIndex={0}
        role="application"
        aria-roledescription="plot"
        aria-label={`${label}. Arrow keys move from ${unit} to ${unit}.`}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setCursor(undefined)}
        onClick={open}
        onKeyDown={press}
      >
        <g aria-hidden="true">{draw(cursor, setCursor)}</g>
      </svg>
      <p className="plot__said" role="status">
        {cursor === undefined ? (
          <span className="plot__hint">
            Point at a {unit}, or move from {unit} to {unit} by arrow keys.
            {onOpen !== undefined && ' A click or Enter opens it.'}
          </span>
        ) : (
          say(cursor)
        )}
      </p>
    </>
  )
}
