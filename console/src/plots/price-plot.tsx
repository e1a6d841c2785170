import { formatRatio, type Ratio } from '../../../shared/amount/ratio.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Fraction } from '../parts/fraction.tsx'
import { Axes } from './axes.tsx'
import { Canvas, Figure } from './canvas.tsx'
import { type Piece, preparePrice } from './prepare/price-curve.ts'

interface PricePlotProps {
  currency: string
  pieces: readonly Piece[]
  /** A quantity and its amount, which have a mark. */
  marked?: { quantity: Ratio; amount: Ratio } | undefined
}

const HEIGHT = 220

/** The amount of a price over the quantity. Arrow keys move from bend to bend. */
export function PricePlot({ currency, pieces, marked }: PricePlotProps) {
  const caption = `Amount in ${currency} by quantity`
  return (
    <Figure
      caption={caption}
      isLow
      plot={(width) => {
        const { path, ends, toPoint, ...axes } = preparePrice(pieces, { width, height: HEIGHT })
        const mark = marked === undefined ? undefined : toPoint(marked.quantity, marked.amount)
        return (
          <Canvas
            label={caption}
            unit="bend"
            width={width}
            height={HEIGHT}
            count={pieces.length}
            markAt={(x) => nearest(ends, x)}
            say={(index) => {
              const piece = pieces[index]
              return piece === undefined ? null : <Said piece={piece} currency={currency} />
            }}
            draw={(cursor) => {
              const end = cursor === undefined ? undefined : ends[cursor]
              return (
                <>
                  <Axes {...axes} />
                  <path className="plot__line" d={path} />
                  {end !== undefined && <circle className="plot__mark" cx={end.x} cy={end.y} r={4} />}
                  {mark !== undefined && mark.x <= axes.box.right && (
                    <circle className="plot__mark" cx={mark.x} cy={mark.y} r={5} />
                  )}
                </>
              )
            }}
          />
        )
      }}
      table={
        <DataTable
          caption={caption}
          columns={columnsOf(currency)}
          rows={pieces}
          keyOf={({ to }) => formatRatio(to)}
        />
      }
    />
  )
}

function Said({ piece: { to, end }, currency }: { piece: Piece; currency: string }) {
  return (
    <>
      <strong>
        <Fraction value={formatRatio(to)} />
      </strong>{' '}
      cost <Fraction value={formatRatio(end)} /> {currency}
    </>
  )
}

const columnsOf = (currency: string): Column<Piece>[] => [
  { heading: 'Above', isNumber: true, cell: ({ from }) => <Fraction value={formatRatio(from)} /> },
  { heading: 'Up to', isNumber: true, cell: ({ to }) => <Fraction value={formatRatio(to)} /> },
  {
    heading: `From, ${currency}`,
    isNumber: true,
    cell: ({ start }) => <Fraction value={formatRatio(start)} />,
  },
  { heading: `To, ${currency}`, isNumber: true, cell: ({ end }) => <Fraction value={formatRatio(end)} /> },
]

function nearest(ends: readonly { x: number }[], x: number): number | undefined {
  let found: number | undefined
  for (const [index, end] of ends.entries())
    if (found === undefined || Math.abs(end.x - x) < Math.abs((ends[found]?.x ?? 0) - x)) found = index
  return found
}
