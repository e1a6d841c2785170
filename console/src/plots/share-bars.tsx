import './plot.css'
import { prepareShares } from './prepare/shares.ts'
import { useWidth } from './use-width.ts'

/** The most parts that have a colour of their own. */
const COLOURS = 8
const [BAR, GAP] = [14, 24]

interface ShareBarsProps {
  /** The bars one below the other. Each is cut into as many parts, which have the same colours. */
  bars: readonly { label: string; values: readonly string[] }[]
}

/** Bars that show how sums are made up. A table beside them has the numbers, so screen readers do not meet the drawing. */
export function ShareBars({ bars }: ShareBarsProps) {
  const [ref, width] = useWidth()
  return (
    <div ref={ref} className="shares" aria-hidden="true">
      <svg width={width} height={bars.length * (BAR + GAP)}>
        {bars.map(({ label, values }, row) => (
          <g key={label} transform={`translate(0 ${row * (BAR + GAP)})`}>
            <text className="plot__label" x={0} y={14}>
              {label}
            </text>
            {prepareShares(values, width).map(({ x, width: wide }, part) => (
              // A part has no other identity than its place.
              <rect
                key={part}
                className={`plot__bar--${(part % COLOURS) + 1}`}
                x={x}
                y={GAP - 4}
                width={wide === 0 ? 0 : Math.max(1, wide - 1)}
                height={BAR}
              />
            ))}
          </g>
        ))}
      </svg>
    </div>
  )
}
