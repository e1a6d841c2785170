import { LRUCache } from 'lru-cache'
import type { Amount } from '../../amount/amount.ts'
import { DAY_S, dayOf, oldestSlotDay } from '../../domain/usage-cover.ts'
import type { UsageSource } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'

/** Usage of an account by source, of closed slots. */
export type Sums = ReadonlyMap<UsageSource, Amount>

/** What of the rollups sums were read from. */
interface Closed {
  epoch: number
  /** Unix seconds, the start of a slot. */
  closedThrough: number
}

/** How often usage of each account was late so far; of all accounts at once under ''. */
export type LateCounts = ReadonlyMap<string, string>

interface Remembered extends Closed {
  sums: Sums
  late: string
}

/** In place of sums: when an account was read last, a mark stood that tells of it. */
const MARKED = 'marked'

/** Accounts whose sums are remembered; each takes some hundred bytes. */
export const REMEMBERED_MAX = 50_000

/** What was closed for as long since is read anew, and not slot by slot. */
const REMEMBERED_FOR_S = DAY_S / 2

/** What is remembered of an account is remembered under this. */
const nameOf = (namespaceId: string, accountId: string): string => `${namespaceId} ${accountId}`

const LATE_COUNTS = `
  SELECT account_id, toString(sum(marks)) AS marks FROM late_usage_counts
  WHERE namespace_id = {namespaceId:String} AND account_id IN {accountIds:Array(String)}
  GROUP BY account_id`

/**
 * Remembers what is closed of accounts. It changes with late usage alone, which is counted before it is stored (of slots that were closed
 * while it was stored: before it can have been worked off): sums that were
 * read after a count, while no mark of the account or of all stood in any slot, open ones included, hold for as long as the count is the same; and
 * so do the slots that were closed since.
 */
export function closedSums(client: ClickHouse) {
  const remembered = new LRUCache<string, Remembered | typeof MARKED>({ max: REMEMBERED_MAX })
  const lateOf = (counts: LateCounts, accountId: string) =>
    `${counts.get('') ?? '0'} ${counts.get(accountId) ?? '0'}`
  return {
    /** To be read before the sums that are remembered with it, and whenever they are to be used. */
    async readLateCounts(namespaceId: string, accountIds: readonly string[]): Promise<LateCounts> {
      const rows = await queryRows<{ account_id: string; marks: string }>(client, LATE_COUNTS, {
        namespaceId,
        accountIds: ['', ...accountIds],
      })
      return new Map(rows.map((row) => [row.account_id, row.marks]))
    },

    /** What is remembered of these in an epoch, by account; slots that were closed since are wanted beside it. */
    recall(
      namespaceId: string,
      accountIds: readonly string[],
      { epoch, closedThrough, now }: Closed & { now: number },
    ): Map<string, Remembered> {
      const recalled = new Map<string, Remembered>()
      for (const accountId of accountIds) {
        const found = remembered.get(nameOf(namespaceId, accountId))
        if (found === MARKED || found?.epoch !== epoch) continue
        if (dayOf(found.closedThrough) < oldestSlotDay(now)) continue
        const since = closedThrough - found.closedThrough
        if (since >= 0 && since < REMEMBERED_FOR_S) recalled.set(accountId, found)
      }
      return recalled
    },

    /** Whether no usage of the account was late since. */
    holds: ({ late }: Remembered, accountId: string, counts: LateCounts): boolean =>
      late === lateOf(counts, accountId),

    /** Whether a mark stood of each of these when they were read last, so that it is of no use to ask for their counts now. */
    wereMarked: (namespaceId: string, accountIds: readonly string[]): boolean =>
      accountIds.every((accountId) => remembered.get(nameOf(namespaceId, accountId)) === MARKED),

    /** Of whom marks stand, as they were just read; what is remembered of these does not hold any more. */
    noteMarks(
      namespaceId: string,
      accountIds: readonly string[],
      isMarked: (accountId: string) => boolean,
    ): void {
      for (const accountId of accountIds) {
        const name = nameOf(namespaceId, accountId)
        if (isMarked(accountId)) remembered.set(name, MARKED)
        else if (remembered.get(name) === MARKED) remembered.delete(name)
      }
    },

    remember(
      namespaceId: string,
      accountId: string,
      { epoch, closedThrough }: Closed,
      counts: LateCounts,
      sums: Sums,
    ): void {
      const late = lateOf(counts, accountId)
      remembered.set(nameOf(namespaceId, accountId), { epoch, closedThrough, sums, late })
    },
  }
}
