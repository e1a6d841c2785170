import { startOfMonth } from '../../format/period.ts'
import { DAY_S, dayLabel, startOfDay } from '../../format/time.ts'
import type { PlotBox, Tick } from './axis.ts'
import { linearScale } from './scale.ts'

/** A time from a second up to another one. Null stands for no beginning, or for no end. */
interface Span {
  from: number | null
  to: number | null
}

export interface TimelineInput {
  rows: readonly { name: string; bars: readonly Span[] }[]
  /** The seconds in which periods begin. */
  periods?: readonly number[]
  /** Seconds that have a line of their own, such as the one of now. */
  marks: readonly { at: number; label: string }[]
}

/** A bar in pixels. */
interface TimelineBar {
  row: number
  bar: number
  x: number
  y: number
  width: number
  /** Whether it goes on beyond the drawing. */
  isOpenLeft: boolean
  isOpenRight: boolean
}

export interface TimelineMarks {
  box: PlotBox
  height: number
  labels: readonly { row: number; y: number; text: string }[]
  bars: readonly TimelineBar[]
  ticks: readonly Tick[]
  periods: readonly number[]
  lines: readonly Tick[]
}

/** The heights of a row, of its bar, and of what stands above and below all rows. */
const [ROW, NAME, TOP, BOTTOM] = [42, 18, 20, 26]
/** The height of a bar. */
export const TIMELINE_BAR = 14
const [LABEL_WIDTH, CHARACTER] = [80, 7.2]
/** More ticks of periods would be a grey surface. */
const PERIODS_GAP = 6

/** Lays out bars on a line of time. Everything that has a time is seen: the line goes from the first to the last one. */
export function prepareTimeline({ rows, periods = [], marks }: TimelineInput, width: number): TimelineMarks {
  const [from, to] = extentOf(rows, marks)
  const box = { left: 4, right: Math.max(5, width - 4), top: TOP, bottom: TOP + rows.length * ROW }
  const scale = linearScale([from, to], [box.left, box.right])
  const within = periods.filter((at) => at >= from && at <= to).map((at) => scale(at))
  const areDense = within.some((at, index) => index > 0 && at - (within[index - 1] ?? at) < PERIODS_GAP)
  return {
    box,
    height: box.bottom + BOTTOM,
    labels: rows.map(({ name }, row) => ({
      row,
      y: TOP + row * ROW + NAME - 5,
      text: cut(name, Math.max(4, Math.floor((box.right - box.left) / CHARACTER))),
    })),
    bars: rows.flatMap(({ bars }, row) =>
      bars.map(({ from: start, to: end }, bar) => {
        const [left, right] = [
          start === null ? box.left : scale(start),
          end === null ? box.right : scale(end),
        ]
        return {
          row,
          bar,
          x: left,
          y: TOP + row * ROW + NAME,
          width: Math.max(2, right - left),
          isOpenLeft: start === null,
          isOpenRight: end === null,
        }
      }),
    ),
    ticks: ticksOf(from, to, box).map(({ at, label }) => ({ at: scale(at), label })),
    periods: areDense ? [] : within,
    lines: marks.map(({ at, label }) => ({ at: scale(at), label })),
  }
}

/** How much of the line of time stays free at both ends. */
const MARGIN = 0.04

function extentOf(rows: TimelineInput['rows'], marks: TimelineInput['marks']): [from: number, to: number] {
  const times = [
    ...rows.flatMap(({ bars }) => bars.flatMap(({ from, to }) => [from, to])).filter((at) => at !== null),
    ...marks.map(({ at }) => at),
  ]
  if (times.length === 0) return [0, DAY_S]
  const first = times.reduce((a, b) => Math.min(a, b))
  const last = times.reduce((a, b) => Math.max(a, b))
  const margin = Math.max((last - first) * MARGIN, DAY_S)
  return [first - margin, last + margin]
}

const cut = (text: string, most: number): string => {
  const characters = Array.from(text)
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}

const DAY_STEPS = [1, 2, 7, 14]
const [MONTH_STEPS, DECADE] = [[1, 2, 3, 6, 12, 24, 60], 120]
const MONTH_S = 31 * DAY_S

/** Days or first days of months, so few that their labels have room. */
function ticksOf(from: number, to: number, { left, right }: PlotBox): Tick[] {
  const most = Math.max(1, Math.floor((right - left) / LABEL_WIDTH))
  const days = DAY_STEPS.find((step) => (to - from) / (step * DAY_S) <= most)
  const times = days === undefined ? monthsIn(from, to, most) : daysIn(from, to, days)
  // A label at an end would be cut off.
  const margin = ((to - from) / (right - left)) * (LABEL_WIDTH / 2)
  return times
    .filter((at) => at >= from + margin && at <= to - margin)
    .map((at) => ({ at, label: days === undefined ? dayLabel(at, true).slice(2) : dayLabel(at, false) }))
}

function daysIn(from: number, to: number, step: number): number[] {
  const days: number[] = []
  for (let at = startOfDay(from) + DAY_S; at <= to; at += step * DAY_S) days.push(at)
  return days
}

function monthsIn(from: number, to: number, most: number): number[] {
  const least = (to - from) / (most * MONTH_S)
  const step = MONTH_STEPS.find((months) => months >= least) ?? Math.ceil(least / DECADE) * DECADE
  const months: number[] = []
  // Steps of several months begin with a January.
  const first = new Date(from * 1_000).getUTCMonth()
  const skipped = step >= 12 ? 12 - first : (step - (first % step)) % step || step
  for (let at = startOfMonth(from, skipped); at <= to; at = startOfMonth(at, step)) months.push(at)
  return months
}
