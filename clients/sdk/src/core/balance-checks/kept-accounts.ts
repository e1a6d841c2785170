import type { Slice } from './own-usage.ts'

/** An id, or your own id. */
export type Reference = string | { externalId: string }

/** What a balance is of. Exactly one of metric and currency is given. */
export interface BalanceKey {
  account: Reference
  metric?: Reference | undefined
  /** Three letters, for a balance in money. */
  currency?: string | undefined
}

/** A balance as Tally gave it. */
interface Known {
  balance: string
  askedAt: number
  /** It may lack the usage that was added from this time on. */
  lacksFrom: number
}

/** A balance of an account. */
export interface Entry {
  known: Known | undefined
  /** The newest request, if it is under way. */
  asking: { answer: Promise<void>; askedAt: number } | undefined
  /** Since when the balances lack usage that requests under way will bring. */
  lacking: Set<{ from: number }>
  /** How often it was forgotten. */
  version: number
  /** The usage of this process that a balance may lack, the oldest first. */
  added: Slice[]
}

/** An account that was asked for, or used. */
export interface Account {
  /** Its id, once it is known. */
  id: string | undefined
  entries: Map<string, Entry>
}

const nameOf = (reference: Reference): string =>
  typeof reference === 'string' ? reference : `external ${reference.externalId}`

/** The balance of an account that is meant. @throws TypeError unless there is either a metric or a currency */
export function entryOf({ entries }: Account, { metric, currency }: BalanceKey): Entry {
  if ((metric === undefined) === (currency === undefined))
    throw new TypeError('metric, currency: exactly one of them is required')
  const name = metric === undefined ? `currency ${String(currency).toUpperCase()}` : nameOf(metric)
  const entry = entries.get(name) ?? {
    known: undefined,
    asking: undefined,
    lacking: new Set<{ from: number }>(),
    version: 0,
    added: [],
  }
  entries.set(name, entry)
  return entry
}

/** Keeps accounts, those that were used last. @param lacksFrom since when usage may be missing in a balance of now */
export function keptAccounts(accountsMax: number, lacksFrom: () => number) {
  const kept = new Map<string, Account>()
  const lacksNothing = ({ entries }: Account): boolean =>
    [...entries.values()].every(({ added }) => {
      const last = added.at(-1)
      return last === undefined || last.endedAt < lacksFrom()
    })
  const dropOldest = (used: Account) => {
    for (const [name, account] of kept) {
      if (kept.size <= accountsMax || account === used || !lacksNothing(account)) return
      kept.delete(name)
    }
  }
  return {
    find: (reference: Reference) => kept.get(nameOf(reference)),
    use(reference: Reference): Account {
      const name = nameOf(reference)
      const account = kept.get(name) ?? { id: undefined, entries: new Map<string, Entry>() }
      kept.delete(name)
      kept.set(name, account)
      if (kept.size > accountsMax) dropOldest(account)
      return account
    },
  }
}
