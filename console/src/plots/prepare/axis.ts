import { tickIncrement, ticks } from 'd3-array'
import { shortDecimal } from '../../format/decimal.ts'
import { dayLabel, monthLabel, type Period } from '../../format/time.ts'
import { linearScale } from './scale.ts'

/** The size of a plot in pixels. */
export interface PlotSize {
  width: number
  height: number
}

/** The area of the marks, in pixels from the top left. */
export interface PlotBox {
  left: number
  top: number
  right: number
  bottom: number
}

export interface Tick {
  at: number
  label: string
}

export interface ValueAxis {
  box: PlotBox
  ticks: readonly Tick[]
  /** The height of 0. */
  zero: number
  toY: (value: number) => number
}

const TICKS = 4
/** The width of a digit, at the size of labels. */
const DIGIT = 7
const [TOP, RIGHT, BOTTOM, LEFT_MIN] = [10, 8, 26, 34]

/** Makes the axis of values, with 0 in it. Its ticks are 1, 2 or 5 times a power of ten. */
export function valueAxis(values: readonly number[], { width, height }: PlotSize): ValueAxis {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)]
  const flat = low === high
  const [from, to] = flat ? [0, 1] : [low, high]
  const step = tickIncrement(from, to, TICKS)
  const found = flat ? [0] : ticks(from, to, TICKS)
  const labels = found.map((tick) => shortDecimal(tickText(tick, step)))
  const left = Math.max(LEFT_MIN, Math.max(...labels.map((label) => label.length)) * DIGIT + 10)
  const box = { left, top: TOP, right: Math.max(left + 1, width - RIGHT), bottom: height - BOTTOM }
  const scale = linearScale([from, to], [box.bottom, box.top])
  return {
    box,
    ticks: found.map((tick, index) => ({ at: scale(tick), label: labels[index] ?? '' })),
    zero: scale(0),
    toY: (value) => scale(value),
  }
}

/**
 * Writes a tick as exact decimal text. As a float, three tenths would be 0.30000000000000004.
 *
 * @param step the distance of ticks as d3 has it: a number below 0 stands for a fraction, -5 for a fifth
 */
export function tickText(tick: number, step: number): string {
  const distance = step < 0 ? 1 / -step : step
  const exponent = Math.floor(Math.log10(distance) + 1e-9)
  const factor = Math.round(distance / 10 ** exponent)
  const units = BigInt(Math.round(tick / distance)) * BigInt(factor)
  if (exponent >= 0) return (units * 10n ** BigInt(exponent)).toString()
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(1 - exponent, '0')
  const fraction = digits.slice(exponent).replace(/0+$/, '')
  return `${sign}${digits.slice(0, exponent)}${fraction === '' ? '' : `.${fraction}`}`
}

export interface LineAxis {
  ticks: readonly Tick[]
  toX: (value: number) => number
}

/** Makes a horizontal axis of values. Its ticks are 1, 2 or 5 times a power of ten. */
export function lineAxis(
  low: number,
  high: number,
  { left, right }: Pick<PlotBox, 'left' | 'right'>,
): LineAxis {
  const [from, to] = apart(low, high)
  const most = Math.max(2, Math.floor((right - left) / LABEL_WIDTH))
  const step = tickIncrement(from, to, most)
  const scale = linearScale([from, to], [left, right])
  return {
    ticks: ticks(from, to, most).map((tick) => ({
      at: scale(tick),
      label: shortDecimal(tickText(tick, step)),
    })),
    toX: (value) => scale(value),
  }
}

/** Widens a range whose ends are the same, or so close for their size that floats have no ticks between them. */
function apart(low: number, high: number): [number, number] {
  const size = Math.max(Math.abs(low), Math.abs(high))
  if (high - low > size * 2 ** -40) return [low, high]
  const room = Math.max(1, size * 2 ** -20)
  return [low - room, high + room]
}

const LABEL_WIDTH = 76

/**
 * Chooses the days or months that have a label below the axis, so that labels have room. The year is said where it
 * changes.
 */
export function dayTicks(
  days: readonly number[],
  toX: (index: number) => number,
  { left, right }: PlotBox,
  period: Period = 'day',
): Tick[] {
  const labelOf = period === 'day' ? dayLabel : monthLabel
  const most = Math.max(1, Math.floor((right - left) / LABEL_WIDTH))
  const every = Math.max(1, Math.ceil(days.length / most))
  let year = ''
  return days.flatMap((day, index) => {
    if (index % every !== 0) return []
    const at = toX(index)
    if (at > right - LABEL_WIDTH / 3 && index > 0) return []
    const dayYear = new Date(day * 1_000).getUTCFullYear().toString()
    const withYear = year !== '' && dayYear !== year
    year = dayYear
    return [{ at, label: labelOf(day, withYear) }]
  })
}

/** A value for pixels. Values that are shown stay text. */
export const pixelsOf = (value: string | null): number => (value === null ? 0 : Number(value))
