import { ClickHouseException } from '../exception.ts'

/** Limited, because the engine never frees the memory of a time zone that was used. */
const ZONES_MAX = 64

/** The time zones of somebody. */
export interface TimeZones {
  /** @throws ClickHouseException when the name is not a plain one, or there are too many names */
  require(name: string): string
}

/**
 * The time zones that analysts use. A name is checked, because the engine opens `file:/any/path` as a time zone. Names
 * are counted, because the engine never forgets one.
 *
 * A name that anybody has used is free for all. Of the names that are left, nobody may take more than half as many as
 * stay: the first one gets 22, the next one 14, and each later one at least one for as long as there are any.
 */
export class SharedTimeZones {
  private readonly used = new Set<string>()
  /** The number of names that each tenant was the first to use. */
  private readonly taken = new Map<string, number>()

  /** @param tenant who shares the names that others may use */
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
        `too many different time zones were used since the start (${taken}); use one of those.`,
      )
    this.taken.set(tenant, taken + 1)
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
