import { addAmounts, amountFromDatabase, ZERO, type Amount } from '../../amount/amount.ts'
import { ALL_TIME } from '../../domain/time-slot.ts'
import { coverUsage, type RollupState } from '../../domain/usage-cover.ts'
import type { UsageSource } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import {
  closedSums,
  LATE_COUNTS,
  nameOf,
  type AccountName,
  type LateCounts,
  type Sums,
} from './closed-sums.ts'
import { partsOf, type Wanted } from './cover-query.ts'
import type { KnownEpoch, RollupStateReader } from './rollup-state.ts'

/** Usage of accounts of any namespaces: by nameOf an account, and by source. */
export type SumsByName = ReadonlyMap<string, Sums>

/**
 * Sums of usage of accounts, of everything there is. What is closed of an account is remembered (decision 14), so that the next sum reads
 * what came since.
 */
export function accountSums(client: ClickHouse, states: RollupStateReader) {
  const closed = closedSums()

  const ask = async (
    accounts: readonly AccountName[],
    epoch: KnownEpoch,
    parts: readonly string[],
    params: Record<string, unknown>,
  ): Promise<SumRow[]> => {
    if (parts.length === 0) return []
    return queryRows<SumRow>(client, parts.map((part) => `${part} ${GROUPED}`).join('\nUNION ALL\n'), {
      ...params,
      epoch: epoch.epoch,
      namespaceIds: distinct(accounts.map(({ namespaceId }) => namespaceId)),
      accountIds: distinct(accounts.map(({ accountId }) => accountId)),
    })
  }

  /**
   * In one question: how often usage of these accounts was late; for those of whom something is remembered, what was closed since; and what is
   * not closed.
   *
   * @param isOpenWanted whether what is not closed is wanted too
   */
  const readNewest = async (
    epoch: KnownEpoch,
    accounts: readonly AccountName[],
    recalled: ReadonlyMap<string, { closedThrough: number }>,
    isOpenWanted: boolean,
  ): Promise<{ late: LateCounts; since: SumsByName; open: SumsByName }> => {
    // Events need no marks, and whether slots are as they were is told by the count of late ones.
    const unmarked = withoutMarks(epoch)
    const { closedThrough } = epoch
    const names = accounts.map(nameOf)
    const since = names.map((name) => recalled.get(name)?.closedThrough ?? closedThrough)
    const lately = { startAt: Math.min(...since), endAt: closedThrough }
    const ofSince = { ...OF_SUMS, filters: [...OF_SUMS.filters, SINCE] }
    const slots = partsOf(coverUsage(lately, unmarked), unmarked, ofSince, false)
    const open = { startAt: closedThrough, endAt: ALL_TIME.endAt }
    const events = isOpenWanted ? partsOf(coverUsage(open, unmarked), unmarked, OF_SUMS, false) : NOTHING
    const rows = await ask(accounts, epoch, [LATE_COUNTS, ...slots.parts, ...events.parts], {
      ...slots.params,
      ...events.params,
      names,
      since,
    })
    const ofPlace = (place: Place) => rows.filter((row) => row.place === place)
    return {
      late: new Map(ofPlace('late').map((row) => [nameOfRow(row), row.total])),
      since: sumsOf(ofPlace('closed')),
      open: sumsOf(ofPlace('open')),
    }
  }

  /**
   * Sums of everything that is closed, for accounts of one namespace of whom nothing is remembered; undefined when there are no rollups
   * any more.
   *
   * @param late how often usage was late, read before: with a mark that is counted and was not seen, what is remembered would hold without
   *   its usage
   * @param isAhead whether all it is for is to remember them: accounts with marks, which could not be, are left out
   */
  const sumClosed = async (
    epoch: KnownEpoch,
    namespaceId: string,
    accounts: readonly AccountName[],
    late: LateCounts,
    isAhead: boolean,
  ): Promise<SumsByName | undefined> => {
    const range = { startAt: ALL_TIME.startAt, endAt: epoch.closedThrough }
    const accountIds = accounts.map(({ accountId }) => accountId)
    // Of open slots too: what a mark there tells of may be missing in its slot when that is closed, without being counted again.
    const state = await states.read(namespaceId, ALL_TIME, accountIds)
    if (state === undefined) return undefined
    const sum = async (
      some: readonly AccountName[],
      known: RollupState & KnownEpoch,
    ): Promise<SumsByName> => {
      if (some.length === 0) return new Map()
      const { parts, params } = partsOf(coverUsage(range, known), known, OF_SUMS, false)
      return sumsOf(await ask(some, known, parts, params))
    }
    // Marks of some would send the others to the events, too.
    const unmarked = accounts.filter(({ accountId }) => !state.isMarked(accountId))
    const marked = isAhead ? [] : accounts.filter(({ accountId }) => state.isMarked(accountId))
    const [clean, dirty] = await Promise.all([sum(unmarked, withoutMarks(state)), sum(marked, state)])
    if (state.epoch === epoch.epoch)
      for (const account of unmarked)
        closed.remember(account, epoch, late, clean.get(nameOf(account)) ?? new Map())
    return new Map([...clean, ...dirty])
  }

  /**
   * Sums of everything, or of what is closed; what is closed is remembered. Undefined while there are no rollups.
   *
   * @param isOpenWanted whether what is not closed is wanted too
   */
  const sumUpToNow = async (
    accounts: readonly AccountName[],
    isOpenWanted: boolean,
  ): Promise<SumsByName | undefined> => {
    const epoch = await states.epoch()
    if (epoch === undefined) return undefined
    const recalled = closed.recall(accounts, epoch)
    const { late, since, open } = await readNewest(epoch, accounts, recalled, isOpenWanted)
    const upToNow = new Map<string, Sums>()
    const others = new Map<string, AccountName[]>()
    for (const account of accounts) {
      const name = nameOf(account)
      const found = recalled.get(name)
      if (found !== undefined && closed.holds(found, account, late)) {
        const sums = addUp(found.sums, since.get(name))
        upToNow.set(name, sums)
        closed.remember(account, epoch, late, sums)
      } else {
        const ofNamespace = others.get(account.namespaceId) ?? []
        others.set(account.namespaceId, ofNamespace)
        ofNamespace.push(account)
      }
    }
    const read = await Promise.all(
      [...others].map(([namespaceId, some]) => sumClosed(epoch, namespaceId, some, late, !isOpenWanted)),
    )
    for (const sums of read) {
      if (sums === undefined) return undefined
      for (const [name, ofAccount] of sums) upToNow.set(name, ofAccount)
    }
    return new Map(accounts.map(nameOf).map((name) => [name, addUp(upToNow.get(name), open.get(name))]))
  }

  return { sumUpToNow }
}

/** From where a row is: what is closed, what is not, or the count of late usage. */
type Place = 'closed' | 'open' | 'late'

/** A sum of an account and source of a place, as it is read. They may have several. */
interface SumRow {
  namespace_id: string
  account_id: string
  source: string
  place: Place
  total: string
}

const GROUPED = 'GROUP BY namespace_id, account_id, source, place'
const OF_SUMS: Wanted = {
  fromDays: "namespace_id, account_id, source, 'closed' AS place, toString(sum(sum)) AS total",
  fromSlots: "namespace_id, account_id, source, 'closed' AS place, toString(sum(sum)) AS total",
  fromEvents:
    "namespace_id, account_id, source, 'open' AS place, toString(sum(toDecimal256(quantity, 18))) AS total",
  // An account of one of the namespaces that has the id of one of another: rows say whose they are, and nobody asks for those.
  filters: ['namespace_id IN {namespaceIds:Array(String)}', 'account_id IN {accountIds:Array(String)}'],
}

/** Slots from when on is asked of each account by itself. @see nameOf */
const SINCE = `toUnixTimestamp(slot) >=
  transform(concat(namespace_id, ' ', account_id), {names:Array(String)}, {since:Array(UInt32)}, toUInt32(-1))`

const NOTHING: ReturnType<typeof partsOf> = { parts: [], params: {} }

const withoutMarks = (epoch: KnownEpoch) => ({ ...epoch, dirtySlots: [], dirtyDays: [] })

const distinct = <T>(all: readonly T[]): T[] => [...new Set(all)]

const nameOfRow = (row: SumRow): string =>
  nameOf({ namespaceId: row.namespace_id, accountId: row.account_id })

/** Adds up rows, of which an account and source may have several. */
function sumsOf(rows: readonly SumRow[]): SumsByName {
  const sums = new Map<string, Map<UsageSource, Amount>>()
  for (const row of rows) {
    const name = nameOfRow(row)
    const known = sums.get(name) ?? new Map<UsageSource, Amount>()
    const total = addAmounts(known.get(row.source) ?? ZERO, amountFromDatabase(row.total))
    sums.set(name, known.set(row.source, total))
  }
  return sums
}

function addUp(some: Sums = new Map(), more: Sums = new Map()): Sums {
  const total = new Map(some)
  for (const [source, sum] of more) total.set(source, addAmounts(total.get(source) ?? ZERO, sum))
  return total
}
