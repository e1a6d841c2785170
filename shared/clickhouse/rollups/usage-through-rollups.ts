import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import { addAmounts, ZERO, type Amount } from '../../amount/amount.ts'
import type { Period } from '../../domain/period.ts'
import { ALL_TIME, clampRange, slotOf, type TimeRange } from '../../domain/time-slot.ts'
import { MEASURES, type Measure } from '../../domain/usage-aggregate.ts'
import { coverUsage, DAY_S, hullOf, type UsageCover } from '../../domain/usage-cover.ts'
import type { UsageSource } from '../../domain/usage-event.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { closedSums, nameOf, type LateCounts, type Sums } from './closed-sums.ts'
import { rollupStateReader, type KnownEpoch } from './rollup-state.ts'
import {
  isoDay,
  sumsOf,
  usageHistory,
  type SumRow as SumOfPlace,
  type SumsByAccount,
} from './usage-history.ts'
import {
  aggregateFromRow,
  groupRows,
  usageAggregateRepository,
  type AggregateRow,
  type UsageSelection,
} from '../usage-aggregates.ts'
import type { UsageReader } from '../usage-reader.ts'

/** Stretches of the events that the sorting key is asked for at most; see hullOf. */
const STRETCHES_MAX = 32

/** What a query gives. */
interface Answer {
  select: string
  groupBy: string
}

/** What a query wants of each place it reads: columns of the same names and types from all of them. */
interface Wanted {
  fromDays: string
  fromSlots: string
  fromEvents: string
  /** Of whom; fixed texts with parameters. */
  filters: readonly string[]
}

/** How events are read so that each counts once, as it counts now. */
interface Counting {
  /** What to read from. @param ofKey conditions on the columns of the sorting key */
  from: (ofKey: string) => string
  settings: ClickHouseSettings
}

const COUNTING_OF_MANY: Counting = {
  // Why PREWHERE: see usage-aggregates.
  from: (ofKey) => `usage_events FINAL PREWHERE ${ofKey} WHERE voided = 0`,
  settings: {},
}

/**
 * By their ids, in 0.6 of the CPU where events lie in some hundred parts, as while history is imported: FINAL goes through all of
 * these side by side. But each event takes memory, so ClickHouse is told to refuse many: each thread has a limit of its own.
 *
 * Why settings of the whole query: in a subquery a server may leave out those that a profile holds, and would not say so.
 */
const COUNTING_OF_FEW: Counting = {
  from: (ofKey) => `(
    SELECT account_id, source, tupleElement(newest, 1) AS quantity FROM (
      SELECT account_id, source, argMax((quantity, voided), version) AS newest FROM usage_events PREWHERE ${ofKey}
      GROUP BY account_id, source, id)
    WHERE tupleElement(newest, 2) = 0)`,
  settings: {
    max_threads: 2,
    max_rows_to_group_by: '100000',
    group_by_overflow_mode: 'throw',
    wait_end_of_query: 1,
  },
}
const TOO_MANY_ROWS = '158'
const REFUSED = new Set([
  TOO_MANY_ROWS,
  '164', // READONLY: these settings are not ours to choose
  '241', // MEMORY_LIMIT_EXCEEDED
  '452', // SETTING_CONSTRAINT_VIOLATION
])
/** For so long it is known that there were many. */
const MANY_FOR_MS = 600_000
const MANY_MAX = 50_000

const OF_ACCOUNT = 'account_id = {accountId:String}'
const OF_ACCOUNTS = 'account_id IN {accountIds:Array(String)}'
const OF_SOURCE = 'source = {source:String}'

// An id begins with the second its event occurred in, the most significant byte first. As one number second, acceptance and
// id are compared in a fraction of the time that a tuple of them takes.
const ID = 'byteSwap(reinterpretAsUInt128(newest_id))'
const NEWEST = `bitOr(
  bitOr(bitShiftLeft(toUInt256(bitShiftRight(${ID}, 96)), 192), bitShiftLeft(toUInt256(toUnixTimestamp64Micro(newest_at)), 128)),
  toUInt256(${ID}))`

/** How a measure is read: its columns of a row of rollups, and of an event, and what becomes of them. */
const COLUMNS: Record<Measure, { rolled: string; ofEvent: string; merged: string }> = {
  count: { rolled: 'count AS n', ofEvent: 'toUInt64(1) AS n', merged: 'toString(sum(n)) AS count' },
  sum: {
    rolled: 'sum AS total',
    ofEvent: 'toDecimal256(quantity, 18) AS total',
    merged: 'toString(sum(total)) AS sum',
  },
  min: { rolled: 'min AS lowest', ofEvent: 'quantity AS lowest', merged: 'toString(min(lowest)) AS min' },
  max: { rolled: 'max AS highest', ofEvent: 'quantity AS highest', merged: 'toString(max(highest)) AS max' },
  latest: {
    rolled: 'latest AS newest, latest_accepted_at AS newest_at, latest_id AS newest_id',
    ofEvent: 'quantity AS newest, accepted_at AS newest_at, id AS newest_id',
    merged: `toString(argMax(newest, ${NEWEST})) AS latest`,
  },
}

const columnsOf = ({ measures = MEASURES }: UsageSelection) => {
  const join = (part: keyof (typeof COLUMNS)[Measure]) =>
    ['source', ...measures.map((measure) => COLUMNS[measure][part])].join(', ')
  return { rolled: join('rolled'), ofEvent: join('ofEvent'), merged: join('merged') }
}

const PERIOD_START: Record<Period, (time: string) => string> = {
  day: (time) => `toUnixTimestamp(toStartOfDay(toDateTime(${time}, 'UTC'))) AS period_start`,
  month: (time) => `toUnixTimestamp(toDateTime(toStartOfMonth(${time}), 'UTC')) AS period_start`,
}

/** Remembers what is closed of accounts (decision 14). */
export interface RememberingReader extends UsageReader {
  /** Reads what is closed of accounts beyond what is remembered, so that their next sum is quick. Open slots are left: each sum reads them. */
  readAhead(namespaceId: string, accountIds: readonly string[]): Promise<void>
}

/** Usage as the raw events have it, read through rollups wherever they are complete. */
export function usageThroughRollups(client: ClickHouse): RememberingReader {
  const events = usageAggregateRepository(client)
  const states = rollupStateReader(client)
  const closed = closedSums(client)
  const history = usageHistory(client)
  /** Accounts that were asked for where there were many; and together with how few others at least. */
  const askedWithMany = new LRUCache<string, number>({ max: MANY_MAX, ttl: MANY_FOR_MS })

  /** The rows of a query over everything that a range is read from; undefined while there are no rollups. */
  const read = async <Row>(
    { select, groupBy }: Answer,
    wanted: Wanted,
    namespaceId: string,
    range: TimeRange,
    accountIds: readonly string[] | undefined,
    params: Record<string, unknown>,
  ): Promise<Row[] | undefined> => {
    const state = await states.read(namespaceId, range, accountIds)
    if (state === undefined) return undefined
    const totals = accountIds === undefined
    const { parts, params: places } = partsOf(coverUsage(range, state), state, wanted, totals)
    if (parts.length === 0) return []
    const query = `SELECT ${select} FROM (${parts.join('\nUNION ALL\n')}) GROUP BY ${groupBy}`
    return queryRows<Row>(client, query, {
      ...places,
      ...params,
      namespaceId,
      epoch: state.epoch,
    })
  }

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

  /** Asks in the way of few events, and in that of many where they turn out to be many, or did so lately. */
  const askFewOrMany = async (
    ask: (counting: Counting) => Promise<SumRow[]>,
    namespaceId: string,
    accountIds: readonly string[],
  ): Promise<SumRow[]> => {
    const names = accountIds.map((accountId) => nameOf(namespaceId, accountId))
    const leastWithMany = (name: string) => askedWithMany.get(name) ?? Infinity
    if (names.some((name) => names.length >= leastWithMany(name))) return ask(COUNTING_OF_MANY)
    try {
      return await ask(COUNTING_OF_FEW)
    } catch (err) {
      if (!(err instanceof ClickHouseError) || !REFUSED.has(err.code)) throw err
      if (err.code === TOO_MANY_ROWS)
        for (const name of names) askedWithMany.set(name, Math.min(names.length, leastWithMany(name)))
      return ask(COUNTING_OF_MANY)
    }
  }

  /** Sums of days of history as far as they are to be had where it is in order of accounts; and the days that are left. */
  const readHistory = async (
    { epoch }: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
    days: readonly number[],
  ): Promise<{ rows: SumOfPlace[]; left: readonly number[] }> => {
    if (days.length === 0) return { rows: [], left: days }
    const pending = await history.listPending(namespaceId, accountIds)
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
   * @param isAhead whether all it is for is to remember them: accounts with marks, which could not be, are left out
   */
  const sumClosed = async (
    epoch: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
    late: LateCounts,
    isAhead: boolean,
  ): Promise<SumsByAccount | undefined> => {
    const range = { startAt: ALL_TIME.startAt, endAt: epoch.closedThrough }
    // Of open slots too: what a mark there tells of may be missing in its slot when that is closed, without being counted again.
    const state = await states.read(namespaceId, ALL_TIME, accountIds)
    if (state === undefined) return undefined
    const unmarked = isAhead ? accountIds.filter((id) => !state.isMarked(id)) : accountIds
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
    if (state.epoch === epoch.epoch)
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
  ): Promise<{ late: LateCounts; held: Map<string, Sums>; sums: SumsByAccount | undefined }> => {
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
   * Sums of everything, or of what is closed; what is closed is remembered. Undefined when there are no rollups any more.
   *
   * @param isOpenWanted whether what is not closed is wanted too
   */
  const sumUpToNow = async (
    epoch: KnownEpoch,
    namespaceId: string,
    accountIds: readonly string[],
    isOpenWanted: boolean,
  ): Promise<Map<string, Map<UsageSource, Amount>> | undefined> => {
    const recalled = closed.recall(namespaceId, accountIds, epoch)
    const [{ since, open }, { late, held, sums }] = await Promise.all([
      sumNewest(epoch, namespaceId, accountIds, recalled, isOpenWanted),
      readClosed(epoch, namespaceId, accountIds, recalled, !isOpenWanted),
    ])
    if (sums === undefined) return undefined
    const upToNow = addUp([held, new Map([...since].filter(([accountId]) => held.has(accountId)))])
    for (const accountId of held.keys())
      closed.remember(namespaceId, accountId, epoch, late, upToNow.get(accountId) ?? new Map())
    return addUp([sums, upToNow, open])
  }

  return steadily({
    async aggregate(namespaceId, selection) {
      const range = clampRange(selection.range)
      if (range.startAt >= range.endAt) return new Map()
      if (selection.property !== undefined) return events.aggregate(namespaceId, selection)
      const { rolled, ofEvent, merged } = columnsOf(selection)
      const rows = await read<AggregateRow>(
        { select: merged, groupBy: 'source' },
        {
          fromDays: rolled,
          fromSlots: rolled,
          fromEvents: ofEvent,
          filters: filtersOf(selection),
        },
        namespaceId,
        range,
        accountsOf(selection),
        paramsOf(selection),
      )
      if (rows === undefined) return events.aggregate(namespaceId, selection)
      return new Map(rows.map((row) => [row.source, aggregateFromRow(row)]))
    },

    async aggregateByPeriod(namespaceId, period, selection) {
      const range = clampRange(selection.range)
      if (range.startAt >= range.endAt) return new Map()
      const fromEvents = () => events.aggregateByPeriod(namespaceId, period, selection)
      if (selection.property !== undefined) return fromEvents()
      const startOf = PERIOD_START[period]
      const { rolled, ofEvent, merged } = columnsOf(selection)
      const rows = await read<AggregateRow & { period_start: number }>(
        { select: `period_start, ${merged}`, groupBy: 'period_start, source' },
        {
          fromDays: `${startOf('day')}, ${rolled}`,
          fromSlots: `${startOf('slot')}, ${rolled}`,
          fromEvents: `${startOf('occurred_at')}, ${ofEvent}`,
          filters: filtersOf(selection),
        },
        namespaceId,
        range,
        accountsOf(selection),
        paramsOf(selection),
      )
      if (rows === undefined) return fromEvents()
      return groupRows(rows, (row) => row.period_start, aggregateFromRow)
    },

    async sumByAccount(namespaceId, accountIds) {
      const epoch = await states.epoch()
      if (epoch === undefined) return events.sumByAccount(namespaceId, accountIds)
      const sums = await sumUpToNow(epoch, namespaceId, accountIds, true)
      return sums ?? events.sumByAccount(namespaceId, accountIds)
    },

    async readAhead(namespaceId, accountIds) {
      const epoch = await states.epoch()
      if (epoch !== undefined) await sumUpToNow(epoch, namespaceId, accountIds, false)
    },
  })
}

/** More than reading takes; rollups that were replaced are kept for longer (ROLLUP_DROP_AFTER_S). */
const STOOD_STILL_MS = 120_000

/** The same reader, which reads again when its process has stood still meanwhile: what it went by may be gone. */
function steadily(reader: RememberingReader): RememberingReader {
  const read = async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;) {
      const startedAt = performance.now()
      const result = await work()
      if (performance.now() - startedAt < STOOD_STILL_MS) return result
    }
  }
  return {
    aggregate: (...asked) => read(() => reader.aggregate(...asked)),
    aggregateByPeriod: (...asked) => read(() => reader.aggregateByPeriod(...asked)),
    sumByAccount: (...asked) => read(() => reader.sumByAccount(...asked)),
    readAhead: (...asked) => read(() => reader.readAhead(...asked)),
  }
}

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

const accountsOf = ({ accountId }: UsageSelection): string[] | undefined =>
  accountId === undefined ? undefined : [accountId]

const filtersOf = ({ accountId, source }: UsageSelection): string[] => [
  ...(accountId === undefined ? [] : [OF_ACCOUNT]),
  ...(source === undefined ? [] : [OF_SOURCE]),
]

const paramsOf = ({ accountId, source }: UsageSelection): Record<string, unknown> => ({
  ...(accountId === undefined ? {} : { accountId }),
  ...(source === undefined ? {} : { source }),
})

/**
 * A SELECT for each place that a cover reads.
 *
 * @param totals whether days, and slots that have them, come from the totals of the namespace
 * @param counting how the events that count are found
 */
function partsOf(
  { days, slots, raw }: UsageCover,
  { slotS, slotTotalsFrom }: KnownEpoch,
  { fromDays, fromSlots, fromEvents, filters }: Wanted,
  totals: boolean,
  counting: Counting = COUNTING_OF_MANY,
): { parts: string[]; params: Record<string, unknown> } {
  const parts: string[] = []
  const params: Record<string, unknown> = {}
  const add = (columns: string, table: string, conditions: readonly string[]) => {
    parts.push(`SELECT ${columns} FROM ${table} FINAL WHERE ${[...conditions, ...filters].join(' AND ')}`)
  }
  const ofNamespace = 'namespace_id = {namespaceId:String}'
  const rolled = ['epoch = {epoch:UInt32}', ofNamespace]
  if (days !== undefined) {
    Object.assign(params, { dayFrom: isoDay(days.startAt), dayTo: isoDay(days.endAt) })
    const conditions = [...rolled, 'day >= {dayFrom:Date}', 'day < {dayTo:Date}', 'count > 0']
    if (days.except.length > 0) {
      params['daysExcept'] = days.except.map(isoDay)
      conditions.push('day NOT IN {daysExcept:Array(Date)}')
    }
    add(fromDays, totals ? 'usage_by_day_total' : 'usage_by_day', conditions)
  }
  if (slots !== undefined) {
    Object.assign(params, { slotFrom: slots.startAt, slotTo: slots.endAt })
    const conditions = [
      ...rolled,
      "slot >= toDateTime({slotFrom:UInt32}, 'UTC')",
      "slot < toDateTime({slotTo:UInt32}, 'UTC')",
      'count > 0',
    ]
    if (slots.except.length > 0) {
      params['slotsExcept'] = slots.except
      conditions.push('toUnixTimestamp(slot) NOT IN {slotsExcept:Array(UInt32)}')
    }
    const hasTotals = (day: number) => totals && day >= slotTotalsFrom
    const addDays = (name: string, table: string, wanted: readonly number[]) => {
      if (wanted.length === 0) return
      params[name] = wanted.map(isoDay)
      add(fromSlots, table, [...conditions, `toDate(slot) IN {${name}:Array(Date)}`])
    }
    addDays(
      'slotDays',
      'usage_by_slot',
      slots.days.filter((day) => !hasTotals(day)),
    )
    addDays('slotTotalDays', 'usage_by_slot_total', slots.days.filter(hasTotals))
  }
  const events = eventsOf(raw, slotS)
  if (events !== undefined) {
    Object.assign(params, events.params)
    const ofKey = [ofNamespace, ...filters, ...events.conditions].join(' AND ')
    parts.push(`SELECT ${fromEvents} FROM ${counting.from(ofKey)}`)
  }
  return { parts, params }
}

/** The conditions of what is read raw: first for the sorting key; where that lets others through, then exactly. */
function eventsOf(
  raw: UsageCover['raw'],
  slotS: number,
): { conditions: string[]; params: Record<string, unknown> } | undefined {
  const { ranges, slots, days } = raw
  const params: Record<string, unknown> = {}
  const hull = hullOf(raw, slotS, STRETCHES_MAX)
  const nearly = hull.map(({ startAt, endAt }, index) => {
    params[`nearFrom${index}`] = slotOf(startAt)
    params[`nearTo${index}`] = slotOf(endAt - 1)
    return `toStartOfFiveMinutes(occurred_at) BETWEEN toDateTime({nearFrom${index}:UInt32}, 'UTC') AND toDateTime({nearTo${index}:UInt32}, 'UTC')`
  })
  if (nearly.length === 0) return undefined
  const inKey = `(${nearly.join(' OR ')})`
  // No two pieces of it meet, so with as many seconds the hull has nothing beside them.
  const wholeS = secondsOf(ranges) + slots.length * slotS + days.length * DAY_S
  const isExact =
    secondsOf(hull) === wholeS && hull.every(({ startAt, endAt }) => beginsSlot(startAt) && beginsSlot(endAt))
  if (isExact) return { conditions: [inKey], params }
  const exactly = ranges.map(({ startAt, endAt }, index) => {
    params[`from${index}`] = startAt
    params[`to${index}`] = endAt
    return `(occurred_at >= toDateTime({from${index}:UInt32}, 'UTC') AND occurred_at < toDateTime({to${index}:UInt32}, 'UTC'))`
  })
  const second = 'toUnixTimestamp(occurred_at)'
  if (slots.length > 0) {
    params['slots'] = slots
    exactly.push(`${second} - ${second} % ${slotS} IN {slots:Array(UInt32)}`)
  }
  if (days.length > 0) {
    params['days'] = days
    exactly.push(`${second} - ${second} % 86400 IN {days:Array(UInt32)}`)
  }
  return { conditions: [inKey, `(${exactly.join(' OR ')})`], params }
}

const secondsOf = (ranges: readonly TimeRange[]): number =>
  ranges.reduce((sum, { startAt, endAt }) => sum + endAt - startAt, 0)

/** Whether a slot of the sorting key begins at a second. */
const beginsSlot = (second: number): boolean => slotOf(second) === second
