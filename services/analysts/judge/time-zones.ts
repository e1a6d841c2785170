import { ClickHouseException } from '../exception.ts'

/** The engine keeps about 5 MB for each time zone it ever met, for as long as it runs (measured). */
const ZONES_MAX = 32

/**
 * The time zones that analysts use. Names are checked because the engine takes `file:/any/path` for one and opens it,
 * and counted because it forgets none.
 */
export class TimeZones {
  private readonly used = new Set<string>()

  /** @throws ClickHouseException when it is no plain name, or one too many */
  require(name: string): string {
    if (!/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/.test(name) || name.length > 64)
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
