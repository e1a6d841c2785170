import type { RefillRequest } from '../../shared/postgres/refill-requests.ts'

/** A balance that is left alone until a time; text, so that equal ones are one. */
type Name = string

/** The most that are kept; what is not kept is found again by going through all configurations. */
const HELD_MAX = 100_000

export const nameOf = ({ namespaceId, accountId, metricId }: RefillRequest): Name =>
  `${namespaceId} ${accountId} ${metricId}`

/** Balances that are not to be looked at for a while, and then are. Times are of one clock, in milliseconds. */
export function heldBalances() {
  const held = new Map<Name, { balance: RefillRequest; until: number }>()
  return {
    hold(balance: RefillRequest, until: number): void {
      if (held.size < HELD_MAX) held.set(nameOf(balance), { balance, until })
    },
    isHeld: (balance: RefillRequest): boolean => held.has(nameOf(balance)),
    release(balance: RefillRequest): void {
      held.delete(nameOf(balance))
    },
    /** Takes those whose time has come. */
    takeDue(now: number): RefillRequest[] {
      const due = [...held.values()].filter(({ until }) => until <= now).map(({ balance }) => balance)
      for (const balance of due) held.delete(nameOf(balance))
      return due
    },
  }
}

export type HeldBalances = ReturnType<typeof heldBalances>
