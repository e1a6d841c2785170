import './plot.css'
import { prepareSpread, type SpreadInput } from './prepare/spread.ts'
import { useWidth } from './use-width.ts'

const [HEIGHT, MIDDLE, HALF, BOTTOM] = [66, 22, 12, 44]

/** The middle of many values: a line from 5 to 95 %, a box from 25 to 75 %, the median, and 0. A table belongs beside. */
export function SpreadPlot({ label, input }: { label: string; input: SpreadInput }) {
  const [ref, width] = useWidth()
  return (
    <div ref={ref} className="plot__frame plot__frame--low">
      {width > 0 && <Drawing label={label} input={input} width={width} />}
    </div>
  )
}

function Drawing({ label, input, width }: { label: string; input: SpreadInput; width: number }) {
  const { ticks, zero, line, box, median } = prepareSpread(input, width)
  return (
    <svg className="plot__svg" width={width} height={HEIGHT} role="img" aria-label={label}>
      <line className="plot__grid" x1={0} x2={width} y1={BOTTOM} y2={BOTTOM} />
      {ticks.map(({ at, label: text }) => (
        <text key={at} className="plot__label" x={at} y={BOTTOM + 17} textAnchor="middle">
          {text}
        </text>
      ))}
      <line className="plot__line" x1={line.from} x2={line.to} y1={MIDDLE} y2={MIDDLE} />
      {[line.from, line.to].map((x, end) => (
        <line key={end} className="plot__line" x1={x} x2={x} y1={MIDDLE - 6} y2={MIDDLE + 6} />
      ))}
      <rect
        className="plot__bar--1"
        x={box.from}
        y={MIDDLE - HALF}
        width={Math.max(2, box.to - box.from)}
        height={2 * HALF}
      />
      <line className="plot__median" x1={median} x2={median} y1={MIDDLE - HALF - 3} y2={MIDDLE + HALF + 3} />
      <line className="plot__cursor" x1={zero} x2={zero} y1={2} y2={BOTTOM} />
    </svg>
  )
}
