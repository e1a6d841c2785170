import { type Column, DataTable } from '../parts/data-table.tsx'
import { Decimal } from '../parts/decimal.tsx'
import { Axes } from './axes.tsx'
import { Canvas, Figure } from './canvas.tsx'
import { type Bin, prepareHistogram } from './prepare/histogram.ts'

interface HistogramPlotProps {
  /** What the values are, with their unit. */
  caption: string
  /** What is counted. */
  counted: string
  bins: readonly Bin[]
}

const HEIGHT = 200

/** How many values lie where. Arrow keys move from bar to bar. */
export function HistogramPlot({ caption, counted, bins }: HistogramPlotProps) {
  return (
    <Figure
      caption={caption}
      isLow
      plot={(width) => {
        const { bars, ...axes } = prepareHistogram(bins, { width, height: HEIGHT })
        return (
          <Canvas
            label={caption}
            unit="bar"
            width={width}
            height={HEIGHT}
            count={bins.length}
            markAt={(x) => {
              const found = bars.findIndex((bar) => x >= bar.x - 1 && x <= bar.x + bar.width)
              return found === -1 ? undefined : found
            }}
            say={(index) => {
              const bin = bins[index]
              return (
                bin !== undefined && (
                  <>
                    <strong>
                      <Span bin={bin} />
                    </strong>{' '}
                    {bin.count} {counted}
                  </>
                )
              )
            }}
            draw={(cursor) => (
              <>
                <Axes {...axes} />
                {bars.map((bar, index) => (
                  <rect
                    key={bar.x}
                    className={index === cursor ? 'plot__bar--1 plot__bar--under-cursor' : 'plot__bar--1'}
                    {...bar}
                  />
                ))}
              </>
            )}
          />
        )
      }}
      table={
        <DataTable caption={caption} columns={columnsOf(counted)} rows={bins} keyOf={({ from }) => from} />
      }
    />
  )
}

function Span({ bin: { from, to, isClosed } }: { bin: Bin }) {
  if (from === to) return <Decimal value={from} />
  return (
    <>
      <Decimal value={from} /> to {isClosed === true ? '' : 'below '}
      <Decimal value={to} />
    </>
  )
}

const columnsOf = (counted: string): Column<Bin>[] => [
  { heading: 'From', isNumber: true, cell: ({ from }) => <Decimal value={from} /> },
  {
    heading: 'To below',
    isNumber: true,
    cell: ({ from, to, isClosed }) =>
      from === to ? (
        ''
      ) : (
        <>
          <Decimal value={to} />
          {isClosed === true && ', which is included'}
        </>
      ),
  },
  { heading: counted, isNumber: true, cell: ({ count }) => count },
]
