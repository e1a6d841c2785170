import type { ListOrder } from '../../domain/page.ts'
import { DAY_S } from '../../domain/time-range.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import type { CachedEpoch, RollupStateReader } from '../rollups/rollup-state.ts'
import { daysParam, isoDay } from '../rollups/time-params.ts'
import {
  dayOf,
  NO_ROLLUPS,
  oldestSlotDay,
  oldestSlotTotalsDay,
  type RollupState,
} from '../rollups/usage-cover.ts'
import { type EventPage, type RolledEvents, type RolledPage, ROWS_OF_SLOT } from './event-windows.ts'
import type { UsageEventFilter } from './usage-event-list.ts'

const NO_ROWS: ReadonlyMap<number, number> = new Map()

/** What rollups tell if they are not asked, or if there are none: all time is open. */
export const UNROLLED: RolledPage = {
  state: NO_ROLLUPS,
  openFrom: 0,
  rolled: [],
  isCut: false,
  rowsOfDays: NO_ROWS,
}

/** The largest number of marked days whose rows are looked up. */
const MARKED_DAYS_MAX = 100
/** The rows of one account in a day are in 288 key buckets. */
const ROWS_OF_DAY_MAX = 288 * ROWS_OF_SLOT

type LevelName = 'days' | 'slots'

/** The days or slots of a page, in Unix seconds. */
interface Level {
  name: LevelName
  /** The table of their rollups. */
  table: string
  /** Half-open. */
  from: number
  to: number
}

/** Parameters of OF_PAGE. */
interface OfPage {
  namespaceId: string
  epoch: number
}

interface LevelRow {
  level: LevelName
  at: number
  /** The number of events of the list, and of all sources; events that are void do not count. */
  events: string
  total: string
}

const COLUMN: Record<LevelName, string> = { days: 'day', slots: 'slot' }
const SECOND_OF: Record<LevelName, string> = {
  days: "toUnixTimestamp(toDateTime(day, 'UTC'))",
  slots: 'toUnixTimestamp(slot)',
}
const IN_RANGE: Record<LevelName, string> = {
  days: 'day >= {from:Date} AND day < {to:Date}',
  slots: "slot >= toDateTime({from:UInt32}, 'UTC') AND slot < toDateTime({to:UInt32}, 'UTC')",
}
const OF_PAGE = 'epoch = {epoch:UInt32} AND namespace_id = {namespaceId:String}'
const OF_ACCOUNT = 'AND account_id = {accountId:String}'
const IS_SOURCE = 'source = {source:String}'
const DIRECTION: Record<ListOrder, string> = { oldest: 'ASC', newest: 'DESC' }

const ROWS_OF_DAYS = `
  SELECT ${SECOND_OF.days} AS at, toString(sum(count)) AS total FROM usage_by_day_total FINAL
  WHERE ${OF_PAGE} AND day IN ${daysParam('days')} GROUP BY day`

/**
 * Asks the rollups in which days and slots a page has events. Of one account these are slots, and the days before the
 * slots that are kept. Of all accounts they are days, and the slots of the last day.
 */
export async function readRolledPage(
  client: ClickHouse,
  states: RollupStateReader,
  namespaceId: string,
  filter: UsageEventFilter,
  page: EventPage,
): Promise<RolledPage> {
  const { accountId } = filter
  const state = await states.read(namespaceId, page.range, accountId === undefined ? undefined : [accountId])
  if (state === undefined) return UNROLLED
  const isOfAccount = accountId !== undefined
  const ofPage = { namespaceId, epoch: state.epoch }
  const { levels, openFrom } = levelsOf(state, isOfAccount, page)
  const { rows, isCut } = await readLevels(client, ofPage, levels, filter, page)
  const rowsOfDays = isOfAccount ? await readRowsOfDays(client, ofPage, rows, state) : NO_ROWS
  const rolled = rows.map((row) => rolledFromRow(row, state.slotS, isOfAccount ? rowsOfDays : undefined))
  return { state, openFrom, rolled, isCut, rowsOfDays }
}

/**
 * The days and slots of a page, in the order of the list, and the second from which on rollups tell nothing.
 *
 * Slots that are older than those kept are left out. There are none, unless no slots were closed for days.
 */
function levelsOf(
  { closedThrough, now, slotS }: CachedEpoch,
  isOfAccount: boolean,
  { range, order }: EventPage,
): { levels: Level[]; openFrom: number } {
  const oldestSlots = isOfAccount ? oldestSlotDay(now) : oldestSlotTotalsDay(now)
  const lastDay = dayOf(closedThrough)
  const daysTo = isOfAccount ? Math.min(oldestSlots, lastDay) : lastDay
  const openFrom = daysTo >= oldestSlots ? closedThrough : daysTo
  const levels: Level[] = [
    {
      name: 'days',
      table: isOfAccount ? 'usage_by_day' : 'usage_by_day_total',
      from: dayOf(range.startAt),
      to: Math.min(dayOf(range.endAt - 1) + DAY_S, daysTo),
    },
    {
      name: 'slots',
      table: isOfAccount ? 'usage_by_slot' : 'usage_by_slot_total',
      from: Math.max(range.startAt - (range.startAt % slotS), daysTo),
      to: Math.min(range.endAt, openFrom),
    },
  ]
  const some = levels.filter(({ from, to }) => from < to)
  return { levels: order === 'oldest' ? some : some.reverse(), openFrom }
}

const levelQuery = (
  { name, table }: Level,
  { accountId, source }: UsageEventFilter,
  order: ListOrder,
): string => `
  SELECT ${SECOND_OF[name]} AS at, toString(sum(count)) AS total,
    ${source === undefined ? 'total' : `toString(sumIf(count, ${IS_SOURCE}))`} AS events
  FROM ${table} FINAL
  WHERE ${OF_PAGE} ${accountId === undefined ? '' : OF_ACCOUNT} AND ${IN_RANGE[name]}
  GROUP BY ${COLUMN[name]} ${source === undefined ? '' : `HAVING countIf(${IS_SOURCE}) > 0`}
  ORDER BY ${COLUMN[name]} ${DIRECTION[order]} LIMIT {limit:UInt32}`

/** Reads the levels one after the other, until there are enough rows for the page. */
async function readLevels(
  client: ClickHouse,
  ofPage: OfPage,
  levels: readonly Level[],
  filter: UsageEventFilter,
  { order, wanted }: EventPage,
): Promise<{ rows: LevelRow[]; isCut: boolean }> {
  const { accountId, source } = filter
  // Each row has an event at least. The first and the last one may be in the page only partly.
  const limit = wanted + 2
  const rows: LevelRow[] = []
  for (const level of levels) {
    const { name, from, to } = level
    const found = await queryRows<Omit<LevelRow, 'level'>>(client, levelQuery(level, filter, order), {
      ...ofPage,
      ...(name === 'days' ? { from: isoDay(from), to: isoDay(to) } : { from, to }),
      ...(accountId === undefined ? {} : { accountId }),
      ...(source === undefined ? {} : { source }),
      limit,
    })
    rows.push(...found.map((row) => ({ ...row, level: name })))
    if (found.length === limit) return { rows, isCut: true }
  }
  return { rows, isCut: false }
}

/** The number of events of all accounts on the days of a page that are read as a whole. */
async function readRowsOfDays(
  client: ClickHouse,
  ofPage: OfPage,
  rows: readonly LevelRow[],
  { dirtyDays }: RollupState,
): Promise<Map<number, number>> {
  const days = [
    ...rows.filter(({ level }) => level === 'days').map(({ at }) => at),
    ...dirtyDays.slice(0, MARKED_DAYS_MAX),
  ]
  if (days.length === 0) return new Map()
  const totals = await queryRows<{ at: number; total: string }>(client, ROWS_OF_DAYS, {
    ...ofPage,
    days: days.map((day) => day / DAY_S),
  })
  return new Map(totals.map(({ at, total }) => [at, Number(total)]))
}

/** @param rowsOfDays the rows of days that are read for one account; undefined if the page is of all accounts */
function rolledFromRow(
  { level, at, events, total }: LevelRow,
  slotS: number,
  rowsOfDays: ReadonlyMap<number, number> | undefined,
): RolledEvents {
  const ofAccount = level === 'slots' ? ROWS_OF_SLOT : Math.min(rowsOfDays?.get(at) ?? 0, ROWS_OF_DAY_MAX)
  return {
    startAt: at,
    endAt: at + (level === 'slots' ? slotS : DAY_S),
    // Rollups do not count void events. A row that counts none is of void events, and the list has them.
    least: Math.max(1, Number(events)),
    cost: rowsOfDays === undefined ? Number(total) : ofAccount,
  }
}
