import { formatMicros } from '../../../shared/time/micros-text.ts'
import { type Micros, MICROS_PER_SECOND } from '../../../shared/time/microsecond-clock.ts'
import type { Window } from './manifest.ts'

/** The rows of an hour in the window of a day; both in Unix seconds. `hour` is null where a view has no hours. */
export type CountedRows = readonly [day: number, hour: number | null, rows: number]

const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S

/** An answer may have a million rows and take 30 seconds. Half of it leaves room for rows that are long, and for a busy server. */
const FILE_ROWS_MAX = 500_000

type Place = Pick<Window, 'from' | 'to' | 'hours' | 'part'>

/**
 * Divides rows into files: one for each day, more for a day with too many rows. What a window holds can only become
 * less: an event that is changed meanwhile has a later time. Without rows there is one file, which has the columns.
 *
 * @param counted in the order of days and hours
 * @param name of the files, without their ending
 */
export function planWindows(
  counted: readonly CountedRows[],
  { name, ending, since, cut }: { name: string; ending: string; since: Micros; cut: Micros },
  rowsMax = FILE_ROWS_MAX,
): Window[] {
  if (counted.length === 0) {
    const to = Math.min(cut, since + DAY_S * MICROS_PER_SECOND)
    const nothing: Place = { from: formatMicros(since), to: formatMicros(to), hours: null, part: [0, 1] }
    return named([nothing], name, ending)
  }
  const days = [...new Set(counted.map(([day]) => day))]
  return days.flatMap((day) => {
    const from = formatMicros(Math.max(since, day * MICROS_PER_SECOND))
    const to = formatMicros(Math.min(cut, (day + DAY_S) * MICROS_PER_SECOND))
    const ofDay = counted.filter(([one]) => one === day)
    const places = placesOf(ofDay, rowsMax).map((place): Place => ({ from, to, ...place }))
    return named(places, `${name}-${from.slice(0, 10)}`, ending)
  })
}

/** Divides a view without times. */
export const planWhole = (rows: number, name: string, ending: string, rowsMax = FILE_ROWS_MAX): Window[] =>
  named(
    partsOf(rows, rowsMax).map((part): Place => ({ from: null, to: null, hours: null, part })),
    name,
    ending,
  )

/** Halves a window whose answer is too large for the server, or takes too long. */
export function halve({ file, part: [rest, of], ...window }: Window): Window[] {
  const [, base = file, ending = ''] = /^(.*)(\.\w+)$/.exec(file) ?? []
  return [rest, rest + of].map((half, index) => ({
    ...window,
    file: `${base}${index === 0 ? 'a' : 'b'}${ending}`,
    part: [half, 2 * of],
  }))
}

/** Joins hours in a row until they have too many rows, and divides an hour with too many by the hash of the key. */
function placesOf(ofDay: readonly CountedRows[], rowsMax: number): Pick<Window, 'hours' | 'part'>[] {
  const spans: { hours: [number, number] | null; rows: number }[] = []
  for (const [, hour, rows] of ofDay) {
    const last = spans.at(-1)
    const hours: [number, number] | null = hour === null ? null : [hour, hour + HOUR_S]
    if (last?.hours && hours && last.rows + rows <= rowsMax) {
      last.hours[1] = hours[1]
      last.rows += rows
    } else spans.push({ hours, rows })
  }
  return spans.flatMap(({ hours, rows }) => partsOf(rows, rowsMax).map((part) => ({ hours, part })))
}

const partsOf = (rows: number, rowsMax: number): [number, number][] => {
  const parts = Math.max(1, Math.ceil(rows / rowsMax))
  return Array.from({ length: parts }, (_, part) => [part, parts])
}

const named = (places: readonly Place[], name: string, ending: string): Window[] =>
  places.map((place, index) => ({
    file: `${name}${places.length === 1 ? '' : `-${String(index + 1).padStart(4, '0')}`}.${ending}`,
    ...place,
    rows: null,
    bytes: null,
    sha256: null,
  }))
