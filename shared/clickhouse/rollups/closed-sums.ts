import { LRUCache } from 'lru-cache'
import type { Amount } from '../../amount/amount.ts'
import { DAY_S, dayOf, oldestSlotDay } from '../../domain/usage-cover.ts'
import type { UsageSource } from '../../domain/usage-event.ts'

/** Usage of an account by source, of closed slots. */
export type Sums = ReadonlyMap<UsageSource, Amount>

/** What of the rollups sums were read from. */
interface Closed {
  epoch: number
  /** Unix seconds, the start of a slot. */
  closedThrough: number
}

/** How often usage of each account was late so far, by nameOf; under an empty id that of all accounts of a namespace at once. */
export type LateCounts = ReadonlyMap<string, string>

interface Remembered extends Closed {
  sums: Sums
  late: string
}

/** Accounts whose sums are remembered; each takes some hundred bytes. */
export const REMEMBERED_MAX = 50_000

/** What was closed for as long since is read anew, and not slot by slot. */
const REMEMBERED_FOR_S = DAY_S / 2

/** An account of any namespace. */
export interface AccountName {
  namespaceId: string
  accountId: string
}

/** One text for both, as SINCE of account-sums has it too. */
export const nameOf = ({ namespaceId, accountId }: AccountName): string => `${namespaceId} ${accountId}`

/** How often usage of accounts was late, and under the empty id that of all accounts of a namespace at once; ends before its grouping. */
export const LATE_COUNTS = `
  SELECT namespace_id, account_id, '' AS source, 'late' AS place, toString(sum(marks)) AS total FROM late_usage_counts
  WHERE namespace_id IN {namespaceIds:Array(String)} AND account_id IN arrayPushBack({accountIds:Array(String)}, '')`

/**
 * Remembers what is closed of accounts. It changes with late usage alone, which is counted before it is stored (of slots that were closed
 * while it was stored: before it can have been worked off): sums that were
 * read after a count, while no mark of the account or of all stood in any slot, open ones included, hold for as long as the count is the same; and
 * so do the slots that were closed since.
 */
export function closedSums() {
  const remembered = new LRUCache<string, Remembered>({ max: REMEMBERED_MAX })
  const lateOf = (counts: LateCounts, account: AccountName) => {
    const ofAll = counts.get(nameOf({ ...account, accountId: '' })) ?? '0'
    return `${ofAll} ${counts.get(nameOf(account)) ?? '0'}`
  }
  return {
    /** What is remembered of these in an epoch, by nameOf; slots that were closed since are wanted beside it. */
    recall(
      accounts: readonly AccountName[],
      { epoch, closedThrough, now }: Closed & { now: number },
    ): Map<string, Remembered> {
      const recalled = new Map<string, Remembered>()
      for (const account of accounts) {
        const name = nameOf(account)
        const found = remembered.get(name)
        if (found?.epoch !== epoch || dayOf(found.closedThrough) < oldestSlotDay(now)) continue
        const since = closedThrough - found.closedThrough
        if (since >= 0 && since < REMEMBERED_FOR_S) recalled.set(name, found)
      }
      return recalled
    },

    /** Whether no usage of the account was late since. */
    holds: ({ late }: Remembered, account: AccountName, counts: LateCounts): boolean =>
      late === lateOf(counts, account),

    /** @param counts how often usage was late, read before the sums that are remembered */
    remember(account: AccountName, { epoch, closedThrough }: Closed, counts: LateCounts, sums: Sums): void {
      remembered.set(nameOf(account), { epoch, closedThrough, sums, late: lateOf(counts, account) })
    },
  }
}
