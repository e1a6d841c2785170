import type { ClickHouseSettings } from '@clickhouse/client'
import { addAmounts, ZERO, type Amount } from '../../amount/amount.ts'
import { ALL_TIME } from '../../domain/time-slot.ts'
import { coverUsage, type UsageCover } from '../../domain/usage-cover.ts'
import type { UsageSource } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { closedSums, type LateCounts, type Sums } from './closed-sums.ts'
import { COUNTING_OF_MANY, partsOf, type Counting, type Wanted } from './cover-query.ts'
import { fewOrMany } from './few-or-many.ts'
import type { KnownEpoch, MarkedState, RollupStateReader } from './rollup-state.ts'
import { sumsOf, usageHistory, type SumRow as SumOfPlace, type SumsByAccount } from './usage-history.ts'

/**
 * Sums of usage of accounts, of everything there is. What is closed of an account is remembered (decision 14), so that the next sum reads
 * what came since.
 */
export function accountSums(client: ClickHouse, states: RollupStateReader) {
  const closed = closedSums(client)
  const history = usageHistory(client)
  const askFewOrMany = fewOrMany()

  const askSums = async (
    { parts, params }: ReturnType<typeof partsOf>,
    epoch: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
    settings: ClickHouseSettings = {},
  ): Promise<SumRow[]> => {
    if (parts.length === 0) return []
    const query = parts.map((part) => `${part} GROUP BY account_id, source, is_open`).join('\nUNION ALL\n')
    const all = { ...params, namespaceId, accountIds, epoch: epoch.epoch }
    return queryRows<SumRow>(client, query, all, settings)
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

  /** Sums of days of history as far as they are to be had where it is in order of accounts; and the days that are left. */
  const readHistory = async (
    { epoch, pendingHistory: pending }: MarkedState,
    namespaceId: string,
    accountIds: readonly string[],
    days: readonly number[],
  ): Promise<{ rows: SumOfPlace[]; left: readonly number[] }> => {
    if (days.length === 0) return { rows: [], left: days }
    const [others, rows] = await Promise.all([
      history.listDaysWithOthers(epoch, namespaceId, accountIds, days),
      history.sumDays(namespaceId, accountIds, days, pending),
    ])
    if (others.length === 0) return rows === undefined ? { rows: [], left: days } : { rows, left: [] }
    const alone = without(days, others)
    const again =
      alone.length === 0 ? undefined : await history.sumDays(namespaceId, accountIds, alone, pending)
    return again === undefined ? { rows: [], left: days } : { rows: again, left: others }
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
    const cover = coverUsage(range, state)
    const rowsOf = (one: UsageCover) => {
      const ask = (counting: Counting) =>
        askSums(
          partsOf(one, state, OF_SUMS, false, counting),
          state,
          namespaceId,
          accountIds,
          counting.settings,
        )
      const { ranges, slots, days } = one.raw
      const isRolled = ranges.length + slots.length + days.length === 0
      return isRolled ? ask(COUNTING_OF_MANY) : askFewOrMany(ask, namespaceId, accountIds)
    }
    const historyDays = new Set(state.historyDays)
    const ofHistory = cover.raw.days.filter((day) => historyDays.has(day))
    const ofEvents = without(cover.raw.days, ofHistory)
    const [rest, found] = await Promise.all([
      rowsOf({ ...cover, raw: { ...cover.raw, days: ofEvents } }),
      readHistory(state, namespaceId, accountIds, ofHistory),
    ])
    const { left } = found
    const missed =
      left.length === 0 ? [] : await rowsOf({ ...NOTHING, raw: { ...NOTHING.raw, days: [...left] } })
    const sums = sumsOf([...rest, ...found.rows, ...missed])
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

interface SumRow extends SumOfPlace {
  is_open: number
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

const NOTHING: UsageCover = { days: undefined, slots: undefined, raw: { ranges: [], slots: [], days: [] } }

function without(days: readonly number[], some: readonly number[]): number[] {
  const left = new Set(some)
  return days.filter((day) => !left.has(day))
}
