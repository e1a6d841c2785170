import type { RefillRequest } from '../../shared/postgres/refill-requests.ts'

/** A balance that is cooling down; text, so that equal ones are one. */
type Name = string

/** The most that are kept; what is not kept is found again by going through all configurations. */
const COOLDOWNS_MAX = 100_000

export const nameOf = ({ namespaceId, accountId, metricId }: RefillRequest): Name =>
  `${namespaceId} ${accountId} ${metricId}`

/**
 * Cooldowns of balances: they are not to be looked at for a while, and then are. Times are of one clock, in
 * milliseconds.
 */
export function refillCooldowns() {
  const cooldowns = new Map<Name, { balance: RefillRequest; until: number }>()
  return {
    begin(balance: RefillRequest, until: number): void {
      if (cooldowns.size < COOLDOWNS_MAX) cooldowns.set(nameOf(balance), { balance, until })
    },
    isCoolingDown: (balance: RefillRequest): boolean => cooldowns.has(nameOf(balance)),
    end(balance: RefillRequest): void {
      cooldowns.delete(nameOf(balance))
    },
    /** Takes the balances whose time has come. */
    takeDue(now: number): RefillRequest[] {
      const due = [...cooldowns.values()].filter(({ until }) => until <= now).map(({ balance }) => balance)
      for (const balance of due) cooldowns.delete(nameOf(balance))
      return due
    },
  }
}

export type RefillCooldowns = ReturnType<typeof refillCooldowns>
