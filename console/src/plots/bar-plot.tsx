import { useId } from 'react'
import { Plot, type PlotProps } from './plot.tsx'
import type { PlotSize } from './prepare/axis.ts'
import { type BarColumn, type BarInput, type BarMarks, prepareBars } from './prepare/bars.ts'

/** The most series that have a colour of their own. */
const COLOURS = 8

/** Bars by UTC day. The bar of the day that is not over is hatched, because it still grows. */
export function BarPlot<Row extends { startAt: number }>({
  input,
  ...props
}: PlotProps<Row> & { input: BarInput }) {
  const hatch = useId()
  const prepare = (size: PlotSize) => {
    const marks = prepareBars(input, size)
    return { ...marks, middles: marks.columns.map(({ middle }) => middle) }
  }
  return (
    <Plot
      {...props}
      prepare={prepare}
      draw={(marks, cursor) => (
        <>
          <defs>
            <pattern
              id={hatch}
              width="6"
              height="6"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <line className="plot__hatch" x1="0" x2="0" y1="0" y2="6" />
            </pattern>
          </defs>
          <Columns marks={marks} series={input.series} cursor={cursor} hatch={hatch} />
        </>
      )}
    />
  )
}

interface ColumnsProps {
  marks: BarMarks
  series: BarInput['series']
  cursor: number | undefined
  hatch: string
}

function Columns({ marks: { columns }, series, cursor, hatch }: ColumnsProps) {
  return columns.map((column, index) => (
    <g key={column.startAt} className={index === cursor ? 'plot__bar--under-cursor' : undefined}>
      {column.bars.map((bar) => (
        <g key={bar.series}>
          <BarRect column={column} bar={bar} className={classOf(bar.series, series)} />
          {column.isRunning && <BarRect column={column} bar={bar} fill={`url(#${hatch})`} />}
        </g>
      ))}
    </g>
  ))
}

interface BarRectProps {
  column: BarColumn
  bar: BarColumn['bars'][number]
  className?: string
  fill?: string
}

/** A bar of less than a pixel is drawn as one, because what is not 0 is not shown as nothing. */
function BarRect({ column: { x, width }, bar: { y, height }, className, fill }: BarRectProps) {
  return <rect className={className} fill={fill} x={x} width={width} y={y} height={Math.max(1, height)} />
}

const classOf = (index: number, series: BarInput['series']): string =>
  series[index]?.isRest === true ? 'plot__bar--rest' : `plot__bar--${(index % COLOURS) + 1}`
