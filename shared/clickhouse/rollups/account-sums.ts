import { addAmounts, amountFromDatabase, ZERO, type Amount } from '../../amount/amount.ts'
import { ALL_TIME } from '../../domain/time-slot.ts'
import { coverUsage } from '../../domain/usage-cover.ts'
import type { UsageSource } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { closedSums, type LateCounts, type Sums } from './closed-sums.ts'
import { partsOf, type Wanted } from './cover-query.ts'
import type { KnownEpoch, RollupStateReader } from './rollup-state.ts'

/**
 * Sums of usage of accounts, of everything there is. What is closed of an account is remembered (decision 14), so that the next sum reads
 * what came since.
 */
export function accountSums(client: ClickHouse, states: RollupStateReader) {
  const closed = closedSums(client)

  const askSums = async (
    { parts, params }: ReturnType<typeof partsOf>,
    epoch: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
  ): Promise<SumRow[]> => {
    if (parts.length === 0) return []
    const query = parts.map((part) => `${part} GROUP BY account_id, source, is_open`).join('\nUNION ALL\n')
    const all = { ...params, namespaceId, accountIds, epoch: epoch.epoch }
    return queryRows<SumRow>(client, query, all)
  }

  /**
   * Sums of what is not closed; and for accounts of whom something is remembered, of what was closed since.
   *
   * @param isOpenWanted whether what is not closed is wanted too
   */
  const sumNewest = async (
    epoch: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
    recalled: ReadonlyMap<string, { closedThrough: number }>,
    isOpenWanted: boolean,
  ): Promise<{ since: SumsByAccount; open: SumsByAccount }> => {
    // Events need no marks, and whether slots are as they were is told by the count of late ones.
    const unmarked = { ...epoch, dirtySlots: [], dirtyDays: [] }
    const { closedThrough } = epoch
    const since = accountIds.map((accountId) => recalled.get(accountId)?.closedThrough ?? closedThrough)
    const lately = { startAt: Math.min(...since), endAt: closedThrough }
    const ofSlots = partsOf(
      coverUsage(lately, unmarked),
      unmarked,
      { ...OF_SUMS, filters: [OF_ACCOUNTS, SINCE] },
      false,
    )
    const open = { startAt: closedThrough, endAt: ALL_TIME.endAt }
    const ofEvents = isOpenWanted
      ? partsOf(coverUsage(open, unmarked), unmarked, OF_SUMS, false)
      : { parts: [], params: {} }
    const both = {
      parts: [...ofSlots.parts, ...ofEvents.parts],
      params: { ...ofSlots.params, ...ofEvents.params, since },
    }
    const rows = await askSums(both, epoch, namespaceId, accountIds)
    return {
      since: sumsOf(rows.filter(({ is_open: isOpen }) => isOpen === 0)),
      open: sumsOf(rows.filter(({ is_open: isOpen }) => isOpen === 1)),
    }
  }

  /**
   * Sums of everything that is closed, for whom nothing is remembered; undefined when there are no rollups any more.
   *
   * @param late how often usage was late, read before; without it they are not remembered
   * @param isAhead whether all it is for is to remember them: accounts with marks, which could not be, are left out
   */
  const sumClosed = async (
    epoch: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
    late: LateCounts | undefined,
    isAhead: boolean,
  ): Promise<SumsByAccount | undefined> => {
    const range = { startAt: ALL_TIME.startAt, endAt: epoch.closedThrough }
    // Of open slots too: what a mark there tells of may be missing in its slot when that is closed, without being counted again.
    const state = await states.read(namespaceId, ALL_TIME, accountIds)
    if (state === undefined) return undefined
    const unmarked = isAhead ? accountIds.filter((id) => !state.isMarked(id)) : accountIds
    closed.noteMarks(namespaceId, accountIds, state.isMarked)
    if (unmarked.length === 0) return new Map()
    // Marks of the others would send these to the events, too.
    if (unmarked.length < accountIds.length) return sumClosed(epoch, namespaceId, unmarked, late, isAhead)
    const parts = partsOf(coverUsage(range, state), state, OF_SUMS, false)
    const sums = sumsOf(await askSums(parts, state, namespaceId, accountIds))
    if (late !== undefined && state.epoch === epoch.epoch)
      for (const accountId of accountIds.filter((id) => !state.isMarked(id)))
        closed.remember(namespaceId, accountId, epoch, late, sums.get(accountId) ?? new Map())
    return sums
  }

  /** Sums of everything that is closed: those that are remembered and still hold, and of the other accounts as they are read. */
  const readClosed = async (
    epoch: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
    recalled: ReturnType<typeof closed.recall>,
    isAhead: boolean,
  ): Promise<{ late?: LateCounts; held: Map<string, Sums>; sums: SumsByAccount | undefined }> => {
    // Whoever was marked is most likely so still, and would not be remembered: a question less, and nothing waits for it.
    if (!isAhead && closed.wereMarked(namespaceId, accountIds))
      return { held: new Map(), sums: await sumClosed(epoch, namespaceId, accountIds, undefined, false) }
    // Before the marks: with one that is counted and was not seen, what is remembered would hold without its usage.
    const late = await closed.readLateCounts(namespaceId, accountIds)
    const held = new Map<string, Sums>()
    for (const [accountId, found] of recalled)
      if (closed.holds(found, accountId, late)) held.set(accountId, found.sums)
    const others = accountIds.filter((accountId) => !held.has(accountId))
    const sums = others.length === 0 ? new Map() : await sumClosed(epoch, namespaceId, others, late, isAhead)
    return { late, held, sums }
  }

  /**
   * Sums of everything, or of what is closed; what is closed is remembered. Undefined while there are no rollups.
   *
   * @param isOpenWanted whether what is not closed is wanted too
   */
  const sumUpToNow = async (
    namespaceId: string,
    accountIds: readonly string[],
    isOpenWanted: boolean,
  ): Promise<Map<string, Map<UsageSource, Amount>> | undefined> => {
    const epoch = await states.epoch()
    if (epoch === undefined) return undefined
    const recalled = closed.recall(namespaceId, accountIds, epoch)
    const [{ since, open }, { late, held, sums }] = await Promise.all([
      sumNewest(epoch, namespaceId, accountIds, recalled, isOpenWanted),
      readClosed(epoch, namespaceId, accountIds, recalled, !isOpenWanted),
    ])
    if (sums === undefined) return undefined
    const upToNow = addUp([held, new Map([...since].filter(([accountId]) => held.has(accountId)))])
    if (late !== undefined)
      for (const accountId of held.keys())
        closed.remember(namespaceId, accountId, epoch, late, upToNow.get(accountId) ?? new Map())
    return addUp([sums, upToNow, open])
  }

  return { sumUpToNow }
}

const OF_ACCOUNTS = 'account_id IN {accountIds:Array(String)}'

/** Usage of accounts, by account and source. */
type SumsByAccount = ReadonlyMap<string, ReadonlyMap<UsageSource, Amount>>

/** An account's sum of a place, as it is read. An account and source may have several. */
interface SumRow {
  account_id: string
  source: string
  total: string
  is_open: number
}

/** Adds up rows, of which an account and source may have several. */
function sumsOf(rows: readonly SumRow[]): SumsByAccount {
  const sums = new Map<string, Map<UsageSource, Amount>>()
  for (const { account_id: accountId, source, total } of rows) {
    const known = sums.get(accountId) ?? new Map<UsageSource, Amount>()
    sums.set(accountId, known.set(source, addAmounts(known.get(source) ?? ZERO, amountFromDatabase(total))))
  }
  return sums
}

const OF_SUMS: Wanted = {
  fromDays: 'account_id, source, 0 AS is_open, toString(sum(sum)) AS total',
  fromSlots: 'account_id, source, 0 AS is_open, toString(sum(sum)) AS total',
  fromEvents: 'account_id, source, 1 AS is_open, toString(sum(toDecimal256(quantity, 18))) AS total',
  filters: [OF_ACCOUNTS],
}

/** Slots from when on is asked of each account by itself. */
const SINCE = `toUnixTimestamp(slot) >= transform(account_id, {accountIds:Array(String)}, {since:Array(UInt32)}, toUInt32(0))`

function addUp(parts: readonly SumsByAccount[]): Map<string, Map<UsageSource, Amount>> {
  const total = new Map<string, Map<UsageSource, Amount>>()
  for (const part of parts)
    for (const [accountId, sums] of part) {
      if (sums.size === 0) continue
      const known = total.get(accountId) ?? new Map<UsageSource, Amount>()
      total.set(accountId, known)
      for (const [source, sum] of sums) known.set(source, addAmounts(known.get(source) ?? ZERO, sum))
    }
  return total
}
