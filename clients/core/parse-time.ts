import { LAST_SECOND } from '../../shared/domain/time-range.ts'
import type { Fault } from '../reporter/import/parse-quantity.ts'

/**
 * The formats of times. `auto` takes text and Unix times. It does not guess the unit of a Unix time, because each unit
 * has another number of digits. That is true for every time that Tally accepts.
 */
export const TIME_FORMATS = ['auto', 'text', 'unix-s', 'unix-ms', 'unix-us', 'unix-ns'] as const
export type TimeFormat = (typeof TIME_FORMATS)[number]

/** How many digits of each Unix format are the fraction of a second. */
const UNIX_PLACES: Partial<Record<TimeFormat, number>> = {
  'unix-s': 0,
  'unix-ms': 3,
  'unix-us': 6,
  'unix-ns': 9,
}

export type ParseTime = (text: string) => number | Fault

/**
 * Makes a parser of times. Events have whole seconds, so a fraction is checked and then cut off.
 *
 * @param utcOffsetS seconds that local time is ahead of UTC, for text without a zone
 * @returns a function that returns Unix seconds, or why the text is not a time
 */
export function timeParser(format: TimeFormat, utcOffsetS: number): ParseTime {
  return (text) => {
    const trimmed = text.trim()
    if (trimmed === '') return { fault: 'is empty' }
    const second = parse(trimmed, format, utcOffsetS)
    if (second === undefined) return { fault: `${shown(trimmed)} is not a time${hint(trimmed, format)}` }
    if (second < 0 || second > LAST_SECOND) return { fault: `${shown(trimmed)} is not between 1970 and 2106` }
    return second
  }
}

function parse(text: string, format: TimeFormat, utcOffsetS: number): number | undefined {
  if (format === 'text') return parseText(text, utcOffsetS)
  const places = UNIX_PLACES[format]
  if (places !== undefined) return parseUnix(text, places)
  const digits = /^\d+(?=\.\d+$|$)/.exec(text)?.[0]
  return digits === undefined ? parseText(text, utcOffsetS) : parseUnix(text, placesOf(digits.length))
}

/**
 * Finds the unit by the number of digits: 9 and 10 are seconds, 12 and 13 milliseconds, and so on, from 1973 to 2286.
 */
function placesOf(digits: number): number | undefined {
  const places = Math.floor((digits - 9) / 3) * 3
  return places >= 0 && places <= 9 && (digits - 9) % 3 < 2 ? places : undefined
}

function parseUnix(text: string, places: number | undefined): number | undefined {
  if (places === undefined || !/^\d{1,30}(\.\d{1,9})?$/.test(text)) return undefined
  const [whole = ''] = text.split('.')
  return Number(whole.slice(0, whole.length - places) || '0')
}

const TEXT =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?))?)?$/i

/**
 * Parses ISO 8601 in its extended form, also with a space instead of the T. A date without a time is its first second.
 */
function parseText(text: string, utcOffsetS: number): number | undefined {
  const match = TEXT.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = (
    match.slice(1, 7) as (string | undefined)[]
  ).map((digits) => Number(digits ?? 0))
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const ms = Date.UTC(year, month - 1, day, hour, minute, second)
  const date = new Date(ms)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined // such as 31 April
  const offset = match[7] === undefined ? utcOffsetS : parseUtcOffset(match[7])
  return offset === undefined ? undefined : ms / 1_000 - offset
}

/** Reads `Z`, `+02:00`, `+0200` or `+02` as seconds ahead of UTC; undefined for anything else. */
export function parseUtcOffset(text: string): number | undefined {
  if (/^(Z|UTC)$/i.test(text)) return 0
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(text) ?? []
  if (hours === undefined || Number(hours) > 18 || Number(minutes) > 59) return undefined
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60)
}

const shown = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

const UNIX_EXAMPLES: Partial<Record<TimeFormat, string>> = {
  'unix-s': '1769903999',
  'unix-ms': '1769903999000',
  'unix-us': '1769903999000000',
  'unix-ns': '1769903999000000000',
}

function hint(text: string, format: TimeFormat): string {
  if (/^\d{1,2}[/.]\d{1,2}[/.]\d{2,4}/.test(text))
    return ': day and month cannot be distinguished, export it as 2026-01-31'
  if (/^\d+(\.\d+)?$/.test(text) && format === 'text') return ' but a number; see --time-format'
  const example = UNIX_EXAMPLES[format]
  if (example !== undefined) return ` in ${format}, such as ${example}; --time-format auto takes text too`
  return ' such as "2026-01-31 23:59:59", "2026-01-31T23:59:59Z" or 1769903999; see --time-format'
}
