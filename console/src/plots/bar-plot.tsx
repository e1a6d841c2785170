import { useId } from 'react'
import { Plot, type PlotProps } from './plot.tsx'
import type { PlotSize } from './prepare/axis.ts'
import { type BarColumn, type BarInput, type BarMarks, type BarSeries, prepareBars } from './prepare/bars.ts'
import { COLOURS } from './prepare/colours.ts'

/** Bars by UTC day or month. The bar of the period that is not over is hatched, because it still grows. */
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
          <BarRect column={column} bar={bar} className={barClass(bar.series, series[bar.series])} />
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

/** The class that colours a series. */
function barClass(index: number, series: BarSeries | undefined): string {
  if (series?.isRest === true) return 'plot__bar--rest'
  if (series?.isWithout === true) return 'plot__bar--without'
  return `plot__bar--${series?.colour ?? (index % COLOURS) + 1}`
}

/** The colour of a series, beside its name. */
export function Swatch({ series }: { series: BarSeries }) {
  return (
    <svg width="10" height="10" aria-hidden="true">
      <rect className={barClass(0, series)} width="10" height="10" rx="2" />
    </svg>
  )
}
