import { tickIncrement } from 'd3-array'
import { compareDecimals, sortDecimals } from '../../format/decimal.ts'
import { lineAxis, pixelsOf, type PlotBox, type PlotSize, type Tick, tickText, valueAxis } from './axis.ts'

/** Values from one bound to another. The lower bound belongs to it, and the upper one to the next. */
export interface Bin {
  from: string
  to: string
  count: number
  /** Whether the upper bound belongs to it too, as it does to a single bin. */
  isClosed?: true
}

const BINS = 25
/** Above this one, a float may be the wrong multiple of a width. */
const INDEX_MAX = 2 ** 50

/**
 * Counts values in bins of one width, 1, 2 or 5 times a power of ten. Each value is compared exactly, so that one that
 * lies on a bound is in one bin.
 *
 * @param values decimal text
 * @returns the bins from the lowest value to the highest; a single one when all are the same, or too close for their size
 */
export function binsOf(values: readonly string[]): Bin[] {
  const sorted = sortDecimals(values)
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined) return []
  const [low, high] = [pixelsOf(first), pixelsOf(last)]
  const step = tickIncrement(low, high, BINS)
  const distance = step < 0 ? 1 / -step : step
  const farthest = Math.max(Math.abs(low), Math.abs(high)) / distance
  // Not "above": a step of 0, or one that is no number, is none either.
  if (compareDecimals(first, last) === 0 || !(farthest <= INDEX_MAX))
    return [{ from: first, to: last, count: sorted.length, isClosed: true }]
  const boundAt = (index: number) => tickText(index * distance, step)
  // A float may be a little off, so the search begins one bin lower.
  let index = Math.floor(low / distance) - 1
  while (compareDecimals(boundAt(index + 1), first) <= 0) index++
  const bins: Bin[] = []
  for (let at = 0; at < sorted.length; index++) {
    const bin = { from: boundAt(index), to: boundAt(index + 1), count: 0 }
    for (; at < sorted.length && compareDecimals(sorted[at] ?? '', bin.to) < 0; at++) bin.count++
    bins.push(bin)
  }
  return bins
}

interface HistogramMarks {
  box: PlotBox
  valueTicks: readonly Tick[]
  lineTicks: readonly Tick[]
  bars: readonly { x: number; y: number; width: number; height: number }[]
}

/** Turns bins into bars. */
export function prepareHistogram(bins: readonly Bin[], size: PlotSize): HistogramMarks {
  const { box, ticks, zero, toY } = valueAxis(
    bins.map(({ count }) => count),
    size,
  )
  const { ticks: lineTicks, toX } = lineAxis(
    Math.min(...bins.map(({ from }) => pixelsOf(from))),
    Math.max(...bins.map(({ to }) => pixelsOf(to))),
    box,
  )
  return {
    box,
    // There is no half value.
    valueTicks: ticks.filter(({ label }) => !/^\d+\.\d+$/.test(label)),
    lineTicks,
    bars: bins.map(({ from, to, count }) => {
      const [x, end] = [toX(pixelsOf(from)), toX(pixelsOf(to))]
      const width = Math.max(2, end - x - 1)
      // What is not 0 is not shown as nothing.
      const y = count === 0 ? zero : Math.min(toY(count), zero - 1)
      return { x, y, width, height: zero - y }
    }),
  }
}
