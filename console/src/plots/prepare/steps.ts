import { dayTicks, pixelsOf, type PlotBox, type PlotSize, type Tick, valueAxis } from './axis.ts'
import { linearScale } from './scale.ts'

/** A value at the end of each UTC day. */
export interface StepInput {
  days: readonly { startAt: number; value: string }[]
}

interface StepPoint {
  startAt: number
  x: number
  y: number
}

interface StepMarks {
  box: PlotBox
  valueTicks: readonly Tick[]
  dayTicks: readonly Tick[]
  zero: number
  points: readonly StepPoint[]
  /** The line through all points, as the `d` of an SVG path. */
  path: string
}

/** Turns values into a line of steps. */
export function prepareSteps({ days }: StepInput, size: PlotSize): StepMarks {
  const values = days.map(({ value }) => pixelsOf(value))
  const { box, ticks, zero, toY } = valueAxis(values, size)
  const half = (box.right - box.left) / Math.max(1, days.length) / 2
  const scale = linearScale([0, Math.max(1, days.length - 1)], [box.left + half, box.right - half])
  const points = days.map(({ startAt }, index) => ({ startAt, x: scale(index), y: toY(values[index] ?? 0) }))
  return {
    box,
    valueTicks: ticks,
    dayTicks: dayTicks(
      days.map(({ startAt }) => startAt),
      scale,
      box,
    ),
    zero,
    points,
    path: pathOf(points, box),
  }
}

/** Steps in the middle between two points. A line through one point has no length, so one day is a line across the plot. */
function pathOf(points: readonly StepPoint[], box: PlotBox): string {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return ''
  if (points.length === 1) return `M${box.left},${first.y}H${box.right}`
  const steps = points.slice(1).map(({ x, y }, index) => `H${(x + (points[index] ?? first).x) / 2}V${y}`)
  return `M${first.x},${first.y}${steps.join('')}H${last.x}`
}
