import type { Period } from '../../format/time.ts'
import { dayTicks, pixelsOf, type PlotBox, type PlotSize, type Tick, valueAxis } from './axis.ts'
import { bands, stacked } from './scale.ts'

/** A series of a stack. */
export interface BarSeries {
  name: string
  /** Whether it is all groups together that have no series. */
  isRest?: boolean
  /** Whether it is what belongs to no group. */
  isWithout?: boolean
  /** The number of its colour, from 1; without it, the colour goes by its place. */
  colour?: number | undefined
}

/** Values by UTC day or month, of one series or several that are stacked. */
export interface BarInput {
  series: readonly BarSeries[]
  /** One value for each series; null where there is none, which leaves a gap. */
  days: readonly { startAt: number; values: readonly (string | null)[] }[]
  /** The first second of the day or month that is not over. */
  runningDay?: number
  period?: Period
}

interface Bar {
  /** The index of the series. */
  series: number
  y: number
  height: number
}

/** All bars of a day. */
export interface BarColumn {
  startAt: number
  x: number
  width: number
  /** The middle, for the cursor. */
  middle: number
  bars: readonly Bar[]
  /** Whether the day is not over, so that its bar still grows. */
  isRunning: boolean
}

export interface BarMarks {
  box: PlotBox
  valueTicks: readonly Tick[]
  dayTicks: readonly Tick[]
  zero: number
  columns: readonly BarColumn[]
}

/** The narrowest column that has room for a space beside it. */
const SPACED_FROM = 4

/** Turns values into bars. All series are drawn, each with its whole value: none is cut off at the top. */
export function prepareBars({ series, days, runningDay, period }: BarInput, size: PlotSize): BarMarks {
  const stacks = days.map(({ values }) => stacked(series.map((_, index) => pixelsOf(values[index] ?? null))))
  const axis = valueAxis(stacks.flat(2), size)
  const { box, toY } = axis
  const band = bands(days.length, [box.left, box.right], SPACED_FROM)
  const width = Math.max(band.width, 0.5)
  const middleOf = (index: number) => band.at(index) + width / 2
  return {
    box,
    valueTicks: axis.ticks,
    dayTicks: dayTicks(
      days.map(({ startAt }) => startAt),
      middleOf,
      box,
      period,
    ),
    zero: axis.zero,
    columns: days.map(({ startAt }, index) => ({
      startAt,
      x: band.at(index),
      width,
      middle: middleOf(index),
      isRunning: startAt === runningDay,
      bars: (stacks[index] ?? []).flatMap(([low, high], of) =>
        low === high ? [] : [{ series: of, y: toY(high), height: toY(low) - toY(high) }],
      ),
    })),
  }
}
