import type { PlotBox, Tick } from './prepare/axis.ts'

/** A label this close to the right edge would be cut off. */
const EDGE = 14

/** The axes of a plot whose horizontal axis has values, too. */
export function Axes({
  box,
  valueTicks,
  lineTicks,
}: {
  box: PlotBox
  valueTicks: readonly Tick[]
  lineTicks: readonly Tick[]
}) {
  return (
    <>
      {valueTicks.map(({ at, label }) => (
        <g key={at}>
          <line className="plot__grid" x1={box.left} x2={box.right} y1={at} y2={at} />
          <text className="plot__label" x={box.left - 6} y={at} dy="0.32em" textAnchor="end">
            {label}
          </text>
        </g>
      ))}
      <line className="plot__zero" x1={box.left} x2={box.right} y1={box.bottom} y2={box.bottom} />
      {lineTicks.map(({ at, label }) => (
        <text
          key={at}
          className="plot__label"
          x={at > box.right - EDGE ? box.right + 4 : at}
          y={box.bottom + 17}
          textAnchor={at > box.right - EDGE ? 'end' : 'middle'}
        >
          {label}
        </text>
      ))}
    </>
  )
}
