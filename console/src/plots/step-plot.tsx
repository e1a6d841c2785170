import { Plot, type PlotProps } from './plot.tsx'
import type { PlotSize } from './prepare/axis.ts'
import { prepareSteps, type StepInput } from './prepare/steps.ts'

/** A line of steps by UTC day, with marks on the days on which something happened. */
export function StepPlot<Row extends { startAt: number }>({
  input,
  marked,
  ...props
}: PlotProps<Row> & {
  input: StepInput
  /** The first seconds of the days that have a mark. */
  marked: ReadonlySet<number>
}) {
  const prepare = (size: PlotSize) => {
    const marks = prepareSteps(input, size)
    return { ...marks, middles: marks.points.map(({ x }) => x) }
  }
  return (
    <Plot
      {...props}
      prepare={prepare}
      draw={({ path, points }, cursor) => (
        <>
          <path className="plot__line" d={path} />
          {points.map(({ startAt, x, y }, index) =>
            marked.has(startAt) || index === cursor ? (
              <circle key={startAt} className="plot__mark" cx={x} cy={y} r={4} />
            ) : null,
          )}
        </>
      )}
    />
  )
}
