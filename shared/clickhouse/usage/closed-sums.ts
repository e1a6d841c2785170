import { LRUCache } from 'lru-cache'
import { type AccountKey, nameOfAccount, nameOfAllAccounts } from '../../domain/account-key.ts'
import type { SumsBySource } from '../../domain/balance.ts'
import { DAY_S } from '../../domain/time-range.ts'
import { dayOf, oldestSlotDay } from '../rollups/usage-cover.ts'

/** The rollups that sums were read from. */
interface ReadUpTo {
  epoch: number
  /** Unix seconds, the start of a slot. */
  closedThrough: number
}

/** Late counts by nameOfAccount. The count at nameOfAllAccounts is of marks that cover all accounts of a namespace. */
export type LateCounts = ReadonlyMap<string, string>

interface Cached extends ReadUpTo {
  sums: SumsBySource
  late: string
}

/** The maximum number of accounts with cached sums, and the maximum number of sums of all accounts together. */
export const CACHED_MAX = 50_000
export const CACHED_SUMS_MAX = 500_000

/** Sums that are this far behind the closed slots are read again, because it would take many slots to complete them. */
const CACHED_FOR_S = DAY_S / 2

/**
 * A cache of the sums of accounts' closed slots. Only late usage changes them. The account's late count grows before
 * late usage is stored (LATE_COUNTS in dirty-slots.ts). If a slot is closed while its usage is stored, the count grows
 * before the mark can be worked off.
 *
 * Sums are valid as long as the late count equals the count that was read before them. They are cached only if there
 * was no mark of the account, or of all accounts, when the count was read. Marks of open slots count too. Slots that
 * were closed later are added to the sums under the same rule. test/services/rollup/races.test.ts tests the races.
 */
export function makeClosedSums() {
  const cached = new LRUCache<string, Cached>({
    max: CACHED_MAX,
    maxSize: CACHED_SUMS_MAX,
    sizeCalculation: ({ sums }) => sums.size,
  })
  const lateOf = (counts: LateCounts, account: AccountKey) => {
    const ofAll = counts.get(nameOfAllAccounts(account)) ?? '0'
    return `${ofAll} ${counts.get(nameOfAccount(account)) ?? '0'}`
  }
  return {
    /** Whether anything is cached of an account, valid or not. */
    has: (account: AccountKey): boolean => cached.has(nameOfAccount(account)),

    /**
     * The sums that are cached of an account in an epoch. The caller must add the slots that were closed later. Sums
     * are dropped if they are of an older epoch, or too far behind.
     */
    find(account: AccountKey, { epoch, closedThrough, now }: ReadUpTo & { now: number }): Cached | undefined {
      const name = nameOfAccount(account)
      const found = cached.get(name)
      if (found === undefined) return undefined
      const since = closedThrough - found.closedThrough
      if (found.epoch < epoch || dayOf(found.closedThrough) < oldestSlotDay(now) || since >= CACHED_FOR_S) {
        cached.delete(name)
        return undefined
      }
      return found.epoch === epoch && since >= 0 ? found : undefined
    },

    /**
     * Whether no late usage of the account has come since the sums were read.
     *
     * @param counts late counts, read after the sums were found
     */
    holds: ({ late }: Cached, account: AccountKey, counts: LateCounts): boolean =>
      late === lateOf(counts, account),

    /** Drops these sums of an account, unless other sums replaced them in the meantime. */
    forget(account: AccountKey, found: Cached): void {
      const name = nameOfAccount(account)
      if (cached.peek(name) === found) cached.delete(name)
    },

    /**
     * Sums of an account without usage are not cached: requests for accounts that do not exist would push the sums of
     * other accounts out of the cache.
     *
     * @param counts late counts, read before the sums
     */
    add(
      account: AccountKey,
      { epoch, closedThrough }: ReadUpTo,
      counts: LateCounts,
      sums: SumsBySource,
    ): void {
      if (sums.size > 0)
        cached.set(nameOfAccount(account), { epoch, closedThrough, sums, late: lateOf(counts, account) })
    },
  }
}
