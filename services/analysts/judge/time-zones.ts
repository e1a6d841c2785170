import { ClickHouseException } from '../exception.ts'

/** Limited, because the engine never frees the memory of a time zone that was used. */
const ZONES_MAX = 64

/** The time zones that one tenant may use. */
export interface TimeZones {
  /** @throws ClickHouseException when the name is not a plain one, or there are too many names */
  require(name: string): string
}

/**
 * The time zones that analysts use. A name is checked, because the engine opens `file:/any/path` as a time zone. Names
 * are counted, because the engine never forgets one.
 *
 * A name that was used once may be used by all. A tenant may add a new name if it has added fewer than half as many as
 * are left. So the first tenant gets 22 names, the next one 14, and each later one at least one while any are left.
 */
export class SharedTimeZones {
  private readonly used = new Set<string>()
  /** The number of names that each tenant has added. */
  private readonly taken = new Map<string, number>()

  /** @param tenant the database of a scope: all of its analysts together may add so many names */
  of(tenant: string): TimeZones {
    return { require: (name) => this.require(name, tenant) }
  }

  private require(name: string, tenant: string): string {
    if (name === 'UTC' || this.used.has(name)) return name
    if (!NAME.test(name) || name.length > 64 || !isKnown(name))
      throw new ClickHouseException('BAD_ARGUMENTS', `Cannot load time zone ${JSON.stringify(name)}.`)
    const taken = this.taken.get(tenant) ?? 0
    if (taken >= (ZONES_MAX - this.used.size) / 2)
      throw new ClickHouseException(
        'BAD_ARGUMENTS',
        `too many different time zones: ${taken} were added since Tally started; use one of them, or UTC.`,
      )
    this.taken.set(tenant, taken + 1)
    this.used.add(name)
    return name
  }
}

const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/

/** Whether there is such a zone. Names that do not exist must not count. */
function isKnown(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
