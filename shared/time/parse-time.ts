const TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const [HOUR_MAX, MINUTE_MAX] = [23, 59]

/**
 * Reads a time in the form of RFC 3339, such as `2026-01-31T12:00:00.5+01:00`. The fraction of a second is cut off. The
 * second 60 of a leap second is refused, because Unix time has none.
 *
 * @returns Unix seconds, which may be negative; undefined if the text is not such a time
 */
export function parseTime(text: string): number | undefined {
  const parts = TIME.exec(text)
  if (parts === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number)
  const [offsetHour, offsetMinute] = [Number(parts[8] ?? 0), Number(parts[9] ?? 0)]
  if (hour > HOUR_MAX || minute > MINUTE_MAX || second > MINUTE_MAX) return undefined
  if (offsetHour > HOUR_MAX || offsetMinute > MINUTE_MAX) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day) // Date.UTC takes years below 100 as years of the last century
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const offset = (parts[7] === '-' ? -1 : 1) * (offsetHour * 3_600 + offsetMinute * 60)
  return date.getTime() / 1_000 + hour * 3_600 + minute * 60 + second - offset
}
