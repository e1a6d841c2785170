import { type Micros, MICROS_PER_SECOND } from './microsecond-clock.ts'

/** The last result. It is cached because all events of a request have the same accepted_at. */
let formatted: { at: Micros; text: string } = { at: -1, text: '' }
/**
 * The last second that was formatted. It is cached because many requests are in the same second, and computing its
 * calendar date takes most of the time.
 */
let formattedSecond: { second: number; text: string } = { second: -1, text: '' }

/** An instant in ClickHouse's form of DateTime64(6, 'UTC'): `2023-11-16 18:17:03.979960`. */
export function formatMicros(at: Micros): string {
  if (formatted.at === at) return formatted.text
  const micros = String(at % MICROS_PER_SECOND).padStart(6, '0')
  formatted = { at, text: `${formatSecond(Math.floor(at / MICROS_PER_SECOND))}.${micros}` }
  return formatted.text
}

function formatSecond(second: number): string {
  if (formattedSecond.second === second) return formattedSecond.text
  const text = new Date(second * 1_000).toISOString()
  formattedSecond = { second, text: `${text.slice(0, 10)} ${text.slice(11, 19)}` }
  return formattedSecond.text
}

const MICROS_TEXT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{6})$/

/** Parses text in the form of formatMicros; undefined for any other text. */
export function parseMicros(value: string): Micros | undefined {
  if (value === formatted.text && formatted.at >= 0) return formatted.at
  const match = MICROS_TEXT.exec(value)
  if (match === null) return undefined
  const ms = Date.parse(`${match[1] ?? ''}T${match[2] ?? ''}Z`)
  const at = ms * 1_000 + Number(match[3])
  return Number.isSafeInteger(at) && formatMicros(at) === value ? at : undefined
}
