import { scaleLinear } from 'd3-scale'
import { curveStep, line } from 'd3-shape'
import { dayTicks, pixelsOf, type PlotBox, type PlotSize, type Tick, valueAxis } from './axis.ts'

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
  const scale = scaleLinear([0, Math.max(1, days.length - 1)], [box.left + half, box.right - half])
  const points = days.map(({ startAt }, index) => ({ startAt, x: scale(index), y: toY(values[index] ?? 0) }))
  const path = line<StepPoint>()
    .x(({ x }) => x)
    .y(({ y }) => y)
    .curve(curveStep)
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
    // A line through one point has no length, so one day is a line across the plot.
    path: points.length === 1 ? `M${box.left},${points[0]?.y}H${box.right}` : (path(points) ?? ''),
  }
}
