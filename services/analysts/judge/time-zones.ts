import { ClickHouseException } from '../exception.ts'

/** Limited, because the engine never frees the memory of a time zone that was used. */
const ZONES_MAX = 32

/**
 * The time zones that analysts use. A name is checked, because the engine opens `file:/any/path` as a time zone. Names
 * are counted, because the engine never forgets one.
 */
export class TimeZones {
  private readonly used = new Set<string>()

  /** @throws ClickHouseException when the name is not a plain one, or there are too many names */
  require(name: string): string {
    if (name === 'UTC') return name
    if (!NAME.test(name) || name.length > 64 || !isKnown(name))
      throw new ClickHouseException('BAD_ARGUMENTS', `Cannot load time zone ${JSON.stringify(name)}.`)
    if (!this.used.has(name) && this.used.size >= ZONES_MAX)
      throw new ClickHouseException(
        'BAD_ARGUMENTS',
        `more than ${ZONES_MAX} different time zones were used since the start; use one of those.`,
      )
    this.used.add(name)
    return name
  }
}

const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/

/** Whether there is such a zone: made-up names must not use up the number of names. */
function isKnown(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
