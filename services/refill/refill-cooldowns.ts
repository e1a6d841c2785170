import type { RefillRequest } from '../../shared/postgres/refill-requests.ts'

/** The key of a balance that is cooling down, as text, because a Map compares texts by their content. */
type Name = string

/** The maximum number of cooldowns in memory. A sweep finds a balance without a cooldown again. */
const COOLDOWNS_MAX = 100_000

export const nameOf = ({ namespaceId, accountId, metricId }: RefillRequest): Name =>
  `${namespaceId} ${accountId} ${metricId}`

/**
 * Keeps the balances that are cooling down. Such a balance is not checked until its cooldown is over, and is due then.
 * All times are milliseconds of the same clock.
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
    /** Removes and returns the balances whose cooldown is over. */
    takeDue(now: number): RefillRequest[] {
      const due = [...cooldowns.values()].filter(({ until }) => until <= now).map(({ balance }) => balance)
      for (const balance of due) cooldowns.delete(nameOf(balance))
      return due
    },
  }
}

export type RefillCooldowns = ReturnType<typeof refillCooldowns>
