import { addAmounts, type Amount, amountFromDatabase, ZERO } from '../../amount/amount.ts'
import { type Batching, batchReads, batchReadsByGroup } from '../../batching/batch-reads.ts'
import { type AccountKey, nameOfAccount, nameOfAllAccounts } from '../../domain/account-key.ts'
import { addSums, NO_SUMS, type SumsBySource } from '../../domain/balance.ts'
import { ALL_TIME } from '../../domain/time-range.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { type CoverRead, selectsOf } from '../rollups/cover-query.ts'
import { LATE_COUNTS, LATE_COUNTS_AND_MARKS } from '../rollups/dirty-slots.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import type { CachedEpoch, RollupStateReader } from '../rollups/rollup-state.ts'
import { coverUsage, type RollupState } from '../rollups/usage-cover.ts'
import { type LateCounts, makeClosedSums } from './closed-sums.ts'
import type { LatestSums, SumsRead } from './latest-sums.ts'
import type { UsageReader } from './usage-aggregates.ts'

/** Sums of usage by nameOfAccount, then by source. The accounts may be of several namespaces. */
type SumsByName = ReadonlyMap<string, SumsBySource>

/**
 * Limits the accounts that share a query: a ClickHouse server accepts 128 KiB in a parameter, and each account's name
 * takes 86 bytes of it.
 */
const BATCHING: Batching = { atMost: 1_000, atOnce: 1, slowAfterMs: 100 }

/** The cached sums of an account, and the result of the query that completes them. */
interface AccountSnapshot {
  account: AccountKey
  epoch: CachedEpoch
  lateCounts: LateCounts
  /**
   * Whether there was a mark of the account, or of all accounts, when the late count was read. Marks of open slots
   * count too, because the rollup of such a slot may lack usage when the slot is closed. True if the marks were not
   * read.
   */
  isMarked: boolean
  /** Sums of closed slots; undefined when no valid sums were cached. */
  closed: SumsBySource | undefined
  /** Sums of open slots; undefined when open slots have no usage, or were not read. */
  open: SumsBySource | undefined
}

interface Deps {
  client: ClickHouse
  states: RollupStateReader
  closedSums: ReturnType<typeof makeClosedSums>
}

/** Sums of all usage of accounts, from caches and queries that accounts share. */
export interface AccountSumsReader {
  /** All usage ever, by account and source; accounts and sources without usage are absent. */
  sumByAccount(namespaceId: string, accountIds: readonly string[]): Promise<Map<string, SumsBySource>>

  /**
   * Caches the sums of those accounts that have no cached sums, so that the next read of them is fast. Accounts with
   * marks of late usage are left out.
   */
  readAhead(namespaceId: string, accountIds: readonly string[]): Promise<void>

  /** How many reads so far found usage that latestSums had not cached; 0 without latestSums. */
  countMisses(): number
}

/**
 * Reads sums of an account's usage of all time. This process caches the sums of closed slots (makeClosedSums), so the
 * next read of the account needs only later usage. If latestSums has the account, the read needs no query at all. Most
 * of the cost of a query is fixed, so accounts that are read at the same time share a query. Accounts of all companies
 * share the query for later usage. The queries for closed slots and for marks may take long, so only accounts of one
 * company share them.
 *
 * @param rawEvents reads the events, while there are no rollups
 * @param latestSums caches sums of all usage; undefined where other processes may write usage
 */
export function accountSums(
  client: ClickHouse,
  states: RollupStateReader,
  rawEvents: Pick<UsageReader, 'sumByAccount'>,
  latestSums: LatestSums | undefined,
): AccountSumsReader {
  const deps: Deps = { client, states, closedSums: makeClosedSums() }
  const readSum = accountSumReader(deps, rawEvents)
  let misses = 0
  const readMissed = async (account: AccountKey) => {
    const read = await readSum(account)
    if (read.sums.size > 0) misses++
    return read
  }
  const sumOf = async (account: AccountKey, read = readMissed): Promise<SumsBySource> =>
    latestSums === undefined ? (await readSum(account)).sums : latestSums.read(account, () => read(account))

  return {
    async sumByAccount(namespaceId, accountIds) {
      const sums = await Promise.all(
        accountIds.map(async (accountId) => [accountId, await sumOf({ namespaceId, accountId })] as const),
      )
      return new Map(sums.filter(([, ofAccount]) => ofAccount.size > 0))
    },

    async readAhead(namespaceId, accountIds) {
      const accounts = accountIds
        .map((accountId) => ({ namespaceId, accountId }))
        .filter((account) => latestSums?.has(account) !== true)
      if (accounts.length === 0) return
      const found = await retryIfStale(() => readClosedAhead(deps, accounts))
      // For these accounts, only events in open slots remain to be read, which is cheap. Accounts with marks are left
      // out, because their marked slots would have to be read from the events.
      if (latestSums !== undefined) await Promise.all(found.map(({ account }) => sumOf(account, readSum)))
    },

    countMisses: () => misses,
  }
}

/** Reads the sum of one account, without latestSums. Cached sums of closed slots are used if they are valid. */
function accountSumReader(
  deps: Deps,
  rawEvents: Pick<UsageReader, 'sumByAccount'>,
): (account: AccountKey) => Promise<SumsRead> {
  const snapshotOfCached = cachedSnapshotReader(deps)
  const snapshotWithMarks = markedSnapshotReader(deps)
  const closedOf = closedSumReader(deps)
  const sumOfEvents = eventSumReader(rawEvents)
  /** Undefined while there are no rollups. */
  const sumThroughRollups = async (account: AccountKey): Promise<SumsRead | undefined> => {
    const cached = deps.closedSums.has(account) ? await snapshotOfCached(account) : undefined
    const snapshot = cached?.closed === undefined ? await snapshotWithMarks(account) : cached
    if (snapshot === undefined) return undefined
    const closed = snapshot.closed ?? (await closedOf(snapshot))
    return closed && { sums: addSums(closed, snapshot.open), epoch: snapshot.epoch.epoch }
  }
  return async (account) =>
    (await retryIfStale(() => sumThroughRollups(account))) ?? {
      sums: await sumOfEvents(account),
      epoch: Infinity,
    }
}

/** Snapshots of accounts with cached sums. Accounts of all companies share a query. */
const cachedSnapshotReader = (deps: Deps) =>
  batchReads<AccountKey, AccountSnapshot | undefined>(
    nameOfAccount,
    (accounts) => readSnapshotsNow(deps, accounts, false),
    BATCHING,
  )

/**
 * Snapshots that also say whether there are marks. Only accounts of one company share a query, because a company may
 * have many marks.
 */
const markedSnapshotReader = (deps: Deps) =>
  batchReadsByGroup<AccountKey, AccountSnapshot | undefined>(
    ({ namespaceId }) => namespaceId,
    nameOfAccount,
    (accounts) => readSnapshotsNow(deps, accounts, true),
    BATCHING,
  )

/** Returns undefined for each account while there are no rollups. */
async function readSnapshotsNow(
  deps: Deps,
  accounts: readonly AccountKey[],
  looksForMarks: boolean,
): Promise<(AccountSnapshot | undefined)[]> {
  const epoch = await deps.states.epoch()
  return epoch === undefined
    ? accounts.map(() => undefined)
    : readSnapshots(deps, epoch, accounts, { looksForMarks, isOpenWanted: true })
}

/** Sums of closed slots, for accounts without cached sums; undefined when there are no rollups any more. */
const closedSumReader = (deps: Deps) =>
  batchReadsByGroup<AccountSnapshot, SumsBySource | undefined>(
    // Open slots were read from closedThrough on, so accounts share a query for closed slots only if their
    // closedThrough is the same. An account with a mark must not share the query of an earlier read that saw no mark of
    // this account. And a query with marked accounts would read the other accounts from the events, too.
    ({ account, epoch, isMarked }) =>
      `${account.namespaceId} ${epoch.epoch} ${epoch.closedThrough} ${isMarked}`,
    nameOfSnapshot,
    async (some) => {
      const sums = await (some[0]?.isMarked ? sumMarked(deps, some) : sumUnmarked(deps, some))
      return some.map((one) => sums && (sums.get(nameOfSnapshot(one)) ?? NO_SUMS))
    },
    BATCHING,
  )

/** Sums of all events of accounts, used while there are no rollups. */
const eventSumReader = (rawEvents: Pick<UsageReader, 'sumByAccount'>) =>
  batchReadsByGroup<AccountKey, SumsBySource>(
    ({ namespaceId }) => namespaceId,
    nameOfAccount,
    async (accounts) => {
      const accountIds = accounts.map(({ accountId }) => accountId)
      const found = await rawEvents.sumByAccount(accounts[0]?.namespaceId ?? '', accountIds)
      return accountIds.map((accountId) => found.get(accountId) ?? NO_SUMS)
    },
    BATCHING,
  )

/** Caches sums of closed slots, for accounts without marks. @returns the accounts that have cached sums now */
async function readClosedAhead(deps: Deps, accounts: readonly AccountKey[]): Promise<AccountSnapshot[]> {
  const epoch = await deps.states.epoch()
  if (epoch === undefined) return []
  const snapshots = await readSnapshots(deps, epoch, accounts, { looksForMarks: true, isOpenWanted: false })
  const others = snapshots.filter(({ closed, isMarked }) => closed === undefined && !isMarked)
  const sums = await sumUnmarked(deps, others)
  return snapshots.filter((one) => one.closed !== undefined || sums?.has(nameOfSnapshot(one)))
}

/**
 * Reads in one query: the late counts of the accounts, their marks if wanted, slots that were closed since their sums
 * were cached, and open slots if wanted. Cached sums that are no longer valid are dropped.
 *
 * @param looksForMarks whether to read marks; if not, all accounts count as marked
 * @param isOpenWanted whether to read open slots
 */
async function readSnapshots(
  { client, closedSums }: Deps,
  epoch: CachedEpoch,
  accounts: readonly AccountKey[],
  { looksForMarks, isOpenWanted }: { looksForMarks: boolean; isOpenWanted: boolean },
): Promise<AccountSnapshot[]> {
  // These sums are read without marks. Events are always complete. Closed slots are complete if the late count has not
  // changed, and the late counts are compared below.
  const state = withoutMarks(epoch)
  const { closedThrough } = epoch
  const cached = accounts.map((account) => closedSums.find(account, epoch))
  const cachedUpTo = cached.map((found) => found?.closedThrough ?? closedThrough)
  const sinceThen = { startAt: Math.min(...cachedUpTo), endAt: closedThrough }
  const ofSince = { ...OF_SUMS, filters: [...OF_SUMS.filters, SINCE] }
  const sinceThat = selectsOf(coverUsage(sinceThen, state), state, ofSince, { totals: false })
  const ofOpen = { startAt: closedThrough, endAt: ALL_TIME.endAt }
  const openEvents = isOpenWanted
    ? selectsOf(coverUsage(ofOpen, state), state, OF_SUMS, { totals: false })
    : NOTHING
  const late = looksForMarks ? LATE_COUNTS_AND_MARKS : LATE_COUNTS
  const rows = await ask(
    client,
    accounts,
    epoch,
    [late, ...grouped(sinceThat.selects), ...grouped(openEvents.selects)],
    {
      ...sinceThat.params,
      ...openEvents.params,
      names: accounts.map(nameOfAccount),
      since: cachedUpTo,
    },
  )
  const ofPart = (part: Part) => rows.filter((row) => row.part === part)
  const lateCounts = new Map(ofPart('late').map((row) => [nameOfRow(row), row.total]))
  const marked = new Set(ofPart('marked').map(nameOfRow))
  const [since, open] = [sumsOf(ofPart('rollups')), sumsOf(ofPart('events'))]
  return accounts.map((account, nth) => {
    const [name, found] = [nameOfAccount(account), cached[nth]]
    const holds = found !== undefined && closedSums.holds(found, account, lateCounts)
    const closed = holds ? addSums(found.sums, since.get(name)) : undefined
    if (closed !== undefined) closedSums.add(account, epoch, lateCounts, closed)
    else if (found !== undefined) closedSums.forget(account, found)
    const isMarked = !looksForMarks || marked.has(name) || marked.has(nameOfAllAccounts(account))
    return { account, epoch, lateCounts, isMarked, closed, open: open.get(name) }
  })
}

/**
 * Sums up all closed slots of accounts of one namespace. The accounts had no marks when their late counts were read.
 * The sums are cached, unless the epoch was replaced in the meantime. Undefined when there are no rollups any more.
 *
 * @param some snapshots of the accounts, all of the same epoch and closedThrough
 */
async function sumUnmarked(
  { client, states, closedSums }: Deps,
  some: readonly AccountSnapshot[],
): Promise<SumsByName | undefined> {
  const [first] = some
  if (first === undefined) return new Map()
  // The epoch is looked up again, because this process may have been suspended in the meantime. A replaced epoch is
  // kept up to date only for a short time.
  const state = await states.epoch()
  if (state === undefined) return undefined
  const sums = await sumThrough(client, some, withoutMarks(state))
  if (state.epoch === first.epoch.epoch)
    for (const { account, epoch, lateCounts } of some)
      closedSums.add(account, epoch, lateCounts, sums.get(nameOfAccount(account)) ?? NO_SUMS)
  return sums
}

/** Sums up closed slots of accounts with marks: marked slots are read from the events, and nothing is cached. */
async function sumMarked(
  { client, states }: Deps,
  some: readonly AccountSnapshot[],
): Promise<SumsByName | undefined> {
  const accountIds = some.map(({ account }) => account.accountId)
  const state = await states.read(some[0]?.account.namespaceId ?? '', ALL_TIME, accountIds)
  return state && sumThrough(client, some, state)
}

/** Sums of the slots before the snapshots' closedThrough. */
async function sumThrough(
  client: ClickHouse,
  some: readonly AccountSnapshot[],
  state: RollupState,
): Promise<SumsByName> {
  const range = { startAt: ALL_TIME.startAt, endAt: some[0]?.epoch.closedThrough ?? ALL_TIME.startAt }
  const { selects, params } = selectsOf(coverUsage(range, state), state, OF_SUMS, { totals: false })
  const accounts = some.map(({ account }) => account)
  return sumsOf(await ask(client, accounts, state, grouped(selects), params))
}

async function ask(
  client: ClickHouse,
  accounts: readonly AccountKey[],
  { epoch }: CachedEpoch,
  selects: readonly string[],
  params: Record<string, unknown>,
): Promise<SumRow[]> {
  if (selects.length === 0) return []
  return queryRows<SumRow>(client, selects.join('\nUNION ALL\n'), {
    ...params,
    epoch,
    namespaceIds: distinct(accounts.map(({ namespaceId }) => namespaceId)),
    accountIds: distinct(accounts.map(({ accountId }) => accountId)),
  })
}

/** The content of a row: usage from rollups, usage from events, a late count, or the fact that there is a mark. */
type Part = 'rollups' | 'events' | 'late' | 'marked'

/** A row of an answer: the sum of some usage of an account and source. An account and source may have several rows. */
interface SumRow {
  namespace_id: string
  account_id: string
  source: string
  part: Part
  total: string
}

const grouped = (selects: readonly string[]): string[] =>
  selects.map((select) => `${select} GROUP BY namespace_id, account_id, source, part`)
const OF_SUMS: CoverRead = {
  fromMonths: "namespace_id, account_id, source, 'rollups' AS part, toString(sum(sum)) AS total",
  fromDays: "namespace_id, account_id, source, 'rollups' AS part, toString(sum(sum)) AS total",
  fromSlots: "namespace_id, account_id, source, 'rollups' AS part, toString(sum(sum)) AS total",
  fromEvents:
    "namespace_id, account_id, source, 'events' AS part, toString(sum(toDecimal256(quantity, 18))) AS total",
  // Together, the two lists also match an account with the namespace of one wanted account and the id of another. Every
  // row names its namespace and account, so the rows of such an account are ignored.
  filters: ['namespace_id IN {namespaceIds:Array(String)}', 'account_id IN {accountIds:Array(String)}'],
}

/**
 * Selects the slots that were closed after the sums of their account were cached. A condition on slots is enough:
 * cached sums are less than half a day behind, so no day and no month is read. @see nameOfAccount
 */
const SINCE = `toUnixTimestamp(slot) >=
  transform(concat(namespace_id, ' ', account_id), {names:Array(String)}, {since:Array(UInt32)}, toUInt32(-1))`

const NOTHING: ReturnType<typeof selectsOf> = { selects: [], params: {} }

const withoutMarks = (epoch: CachedEpoch) => ({ ...epoch, dirtySlots: [], dirtyDays: [] })

const distinct = <T>(all: readonly T[]): T[] => [...new Set(all)]

const nameOfSnapshot = ({ account }: AccountSnapshot): string => nameOfAccount(account)

const nameOfRow = (row: SumRow): string =>
  nameOfAccount({ namespaceId: row.namespace_id, accountId: row.account_id })

/** Adds up the rows of each account and source. */
function sumsOf(rows: readonly SumRow[]): SumsByName {
  const sums = new Map<string, Map<UsageSource, Amount>>()
  for (const row of rows) {
    const name = nameOfRow(row)
    const soFar = sums.get(name) ?? new Map<UsageSource, Amount>()
    const total = addAmounts(soFar.get(row.source) ?? ZERO, amountFromDatabase(row.total))
    sums.set(name, soFar.set(row.source, total))
  }
  return sums
}
