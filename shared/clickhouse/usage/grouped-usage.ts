import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client'
import type { FairSemaphore } from '../../batching/fair-semaphore.ts'
import {
  type GroupedUsage,
  type GroupSeries,
  type GroupUsage,
  mergeGroupUsage,
  mergeSeries,
  sortGroups,
} from '../../domain/grouped-usage.ts'
import { clampRange } from '../../domain/time-range.ts'
import { DomainError } from '../../errors/domain-error.ts'
import { SMALL_STEPS, yielder } from '../../lifecycle/yielder.ts'
import { type ClickHouse, queryRows, streamRows } from '../clickhouse.ts'
import { retryIfStale } from '../rollups/retry-if-stale.ts'
import { rollupStateReader } from '../rollups/rollup-state.ts'
import { NO_ROLLUPS } from '../rollups/usage-cover.ts'
import {
  type GroupedRow,
  type GroupedRows,
  groupedUsageStatement,
  type GroupedWanted,
  type RankedRow,
  rankStatement,
  rowsByAccount,
  rowsByProperty,
} from './grouped-usage-statement.ts'
import { VALUE_KIND, valueInText } from './property-value.ts'
import { aggregateFromRow } from './usage-aggregates.ts'

/**
 * Limits of usage by group. They keep the work of one request, and its memory, small.
 *
 * @internal
 */
export const GROUP_LIMITS = {
  /** The most values of a property. */
  values: 1_000_000,
  /** The most different texts of properties that ClickHouse cannot read. */
  texts: 10_000,
  /** The most rows of an answer of ClickHouse, and their bytes. Only such texts can make it so large. */
  rows: 200_000,
  bytes: 64 * 1_024 * 1_024,
  /** The most bytes of memory that ClickHouse may use for a statement. It grows with groups and periods. */
  memory: 1_024 * 1_024 * 1_024,
}
type Limits = typeof GROUP_LIMITS

/** Usage in a range, by group. */
export interface GroupedUsageReader {
  /**
   * The usage by account, through rollups.
   *
   * @param signal ends the wait for a permit
   * @throws DomainError unprocessable when it takes too much memory
   */
  byAccount(namespaceId: string, wanted: GroupedWanted, signal?: AbortSignal): Promise<GroupedUsage>

  /**
   * The usage by the value of a property (propertyText), from the events. The caller makes sure that there are not too
   * many.
   *
   * @param signal ends the wait for a permit
   * @throws DomainError overloaded when the read waited too long for a permit; unprocessable when the property has too
   *   many values, or when it takes too much memory
   */
  byProperty(
    namespaceId: string,
    wanted: GroupedWanted,
    property: string,
    signal?: AbortSignal,
  ): Promise<GroupedUsage>
}

const NOTHING: GroupedUsage = { total: undefined, data: [], rest: undefined, without: undefined }

/** How often a read by property is made while new texts arrive that ClickHouse cannot read. */
const ATTEMPTS = 3

/**
 * Reads usage by group, in two statements. The first finds the groups with the largest quantities. The second reads
 * everything that is answered: these groups, all others together, and the total. So the parts of an answer add up, also
 * while usage arrives.
 *
 * @param rawReads the semaphore whose permits reads of events need; see rawReadSemaphore
 */
export function groupedUsageReader(
  client: ClickHouse,
  rawReads: FairSemaphore,
  limits: Limits = GROUP_LIMITS,
): GroupedUsageReader {
  const states = rollupStateReader(client)
  return {
    byAccount(namespaceId, wanted, signal) {
      const clamped = { ...wanted, range: clampRange(wanted.range) }
      if (clamped.range.startAt >= clamped.range.endAt) return Promise.resolve(NOTHING)
      return retryIfStale(async () => {
        const ofAccounts = wanted.accountId === undefined ? undefined : [wanted.accountId]
        const state = await states.read(namespaceId, clamped.range, ofAccounts)
        const rows = (hasPeriods: boolean) =>
          rowsByAccount(namespaceId, clamped, state ?? NO_ROLLUPS, { hasPeriods })
        const read = () => readByAccount(client, clamped, rows(false), rows(true), limits)
        // Without rollups, all events of the range are read.
        return state === undefined ? rawReads.run(read, { tenant: namespaceId, signal }) : read()
      })
    },

    byProperty(namespaceId, wanted, property, signal) {
      const clamped = { ...wanted, range: clampRange(wanted.range) }
      if (clamped.range.startAt >= clamped.range.endAt) return Promise.resolve(NOTHING)
      const rows = rowsByProperty(namespaceId, clamped, property)
      return rawReads.run(() => readByProperty(client, clamped, rows, property, limits), {
        tenant: namespaceId,
        signal,
      })
    },
  }
}

async function readByAccount(
  client: ClickHouse,
  wanted: GroupedWanted,
  forRank: GroupedRows | undefined,
  forUsage: GroupedRows | undefined,
  limits: Limits,
): Promise<GroupedUsage> {
  if (forRank === undefined || forUsage === undefined) return NOTHING
  const { query, params } = rankStatement(forRank, wanted.aggregation, wanted.limit)
  try {
    const ranked = await queryRows<RankedRow>(client, query, params, memoryLimit(limits))
    const names = ranked.map(({ grp }) => grp)
    const collected = await readGroups(client, wanted, forUsage, names, undefined, limits)
    return groupedUsageOf(collected, wanted)
  } catch (err) {
    if (isTooMuchMemory(err)) throw tooMuchMemory()
    throw err
  }
}

async function readByProperty(
  client: ClickHouse,
  wanted: GroupedWanted,
  rows: GroupedRows,
  property: string,
  limits: Limits,
): Promise<GroupedUsage> {
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const names = await rankValues(client, wanted, rows, property, limits)
      const collected = await readGroups(client, wanted, rows, names, property, limits)
      const usage = groupedUsageOf(collected, wanted)
      if (usage.data.length + (usage.rest?.groups ?? 0) > limits.values) throw tooManyValues(limits)
      if (!collected.hasNewText) return usage
    }
  } catch (err) {
    if (isTooMuchMemory(err)) throw tooMuchMemory()
    if (!(err instanceof ClickHouseError)) throw err
    if (err.code === TOO_MANY_GROUPS) throw tooManyValues(limits)
    if (err.code === TOO_LARGE_RESULT) throw tooManyTexts(limits)
    throw err
  }
  throw new DomainError('overloaded', 'usage arrives while it is read, try again later')
}

/** ClickHouse's codes for a GROUP BY with too many rows, and for a result that is too large. */
const TOO_MANY_GROUPS = '158'
const TOO_LARGE_RESULT = '396'
const MEMORY_LIMIT_EXCEEDED = '241'

/** Whether the statement came to its own limit. That of all statements together has the same code. */
const isTooMuchMemory = (err: unknown): boolean =>
  err instanceof ClickHouseError && err.code === MEMORY_LIMIT_EXCEEDED && !/\(total\)/i.test(err.message)

const tooMuchMemory = () =>
  new DomainError(
    'unprocessable',
    'there are too many groups and periods in the range to read at once; ask for a shorter range, or without a period',
  )

const tooManyValues = ({ values }: Limits) =>
  new DomainError(
    'unprocessable',
    `property: it has more than ${values.toLocaleString('en')} values in the range, name an account or a shorter range`,
  )

const tooManyTexts = ({ texts }: Limits) =>
  new DomainError(
    'unprocessable',
    `property: too many events have a whole number of more than 64 bits in their properties, at most ${texts.toLocaleString('en')} different properties with such numbers can be read; name an account or a shorter range`,
  )

/**
 * The values whose usage must be read one by one: all that can be among the largest. Those in texts that ClickHouse
 * cannot read are always among them, because ClickHouse ranks values without these texts.
 */
async function rankValues(
  client: ClickHouse,
  wanted: GroupedWanted,
  rows: GroupedRows,
  property: string,
  limits: Limits,
): Promise<string[]> {
  const rank = (atMost: number) => {
    const { query, params } = rankStatement(rows, wanted.aggregation, atMost)
    return queryRows<RankedRow>(client, query, params, {
      max_rows_to_group_by: String(limits.values + limits.texts),
      group_by_overflow_mode: 'throw',
      ...resultLimits(limits),
    })
  }
  const isText = ({ kind }: RankedRow) => kind === VALUE_KIND.text
  let ranked = await rank(wanted.limit)
  // Each value of a text may have been ranked too high without the text, in the place of another value. So there must be
  // as many more values.
  if (ranked.some(isText)) ranked = await rank(wanted.limit + 2 * limits.texts + 1)
  const texts = ranked.filter(isText)
  if (texts.length > limits.texts) throw tooManyTexts(limits)
  const inTexts = new Set<string>()
  const turns = yielder(SMALL_STEPS)
  for (const { grp } of texts) {
    if (turns.isDue()) await turns.yieldToOthers()
    const value = valueInText(grp, property)
    if (value !== undefined) inTexts.add(value)
  }
  const others = ranked.filter((row) => !isText(row) && !inTexts.has(row.grp)).slice(0, wanted.limit)
  return [...inTexts, ...others.map(({ grp }) => grp)]
}

const memoryLimit = ({ memory }: Limits): ClickHouseSettings => ({ max_memory_usage: String(memory) })

const resultLimits = (limits: Limits): ClickHouseSettings => ({
  max_result_rows: String(limits.rows),
  max_result_bytes: String(limits.bytes),
  result_overflow_mode: 'throw',
  ...memoryLimit(limits),
})

/** A series while its rows are collected. */
interface Series {
  whole: GroupUsage | undefined
  periods: Map<number, GroupUsage>
}

interface Collected {
  total: Series
  groups: Map<string, Series>
  rest: Series
  /** How many groups the rest is of. */
  restGroups: number
  without: Series
  /** Whether there is a text with a value that was not asked for, because it arrived in the meantime. */
  hasNewText: boolean
}

const emptySeries = (): Series => ({ whole: undefined, periods: new Map() })

async function readGroups(
  client: ClickHouse,
  wanted: GroupedWanted,
  rows: GroupedRows,
  names: readonly string[],
  property: string | undefined,
  limits: Limits,
): Promise<Collected> {
  const { query, params } = groupedUsageStatement(rows, wanted, names, property)
  const known = new Set(names)
  const collected: Collected = {
    total: emptySeries(),
    groups: new Map(),
    rest: emptySeries(),
    restGroups: 0,
    without: emptySeries(),
    hasNewText: false,
  }
  const seriesOf = ({ is_total: isTotal, kind, name }: GroupedRow): Series => {
    if (isTotal === 1) return collected.total
    if (kind === VALUE_KIND.value && name === '') return collected.rest
    const value = kind === VALUE_KIND.text ? valueInText(name, property ?? '') : name
    if (kind === VALUE_KIND.without || value === undefined) return collected.without
    if (!known.has(value)) collected.hasNewText = true
    const series = collected.groups.get(value) ?? emptySeries()
    collected.groups.set(value, series)
    return series
  }
  const turns = yielder(SMALL_STEPS)
  for await (const batch of streamRows<GroupedRow>(client, query, params, resultLimits(limits)))
    for (const row of batch) {
      if (turns.isDue()) await turns.yieldToOthers()
      if (row.count === '0') continue
      const series = seriesOf(row)
      const usage = usageOfGroupRow(row)
      if (row.is_whole === 0)
        series.periods.set(row.period_start, mergeGroupUsage(series.periods.get(row.period_start), usage))
      else series.whole = mergeGroupUsage(series.whole, usage)
      if (series === collected.rest && row.is_whole === 1) collected.restGroups = Number(row.groups)
    }
  return collected
}

/** Chooses the largest of the groups that were read; the others join the rest. */
function groupedUsageOf(
  collected: Collected,
  { aggregation, limit }: Pick<GroupedWanted, 'aggregation' | 'limit'>,
): GroupedUsage {
  const groups = [...collected.groups].flatMap(([name, series]) => {
    const found = foundSeries(series)
    return found === undefined ? [] : [{ name, ...found }]
  })
  const sorted = sortGroups(groups, aggregation)
  const others = sorted.slice(limit)
  let rest = foundSeries(collected.rest)
  for (const { whole, periods } of others) rest = mergeSeries(rest, { whole, periods })
  return {
    total: foundSeries(collected.total),
    data: sorted.slice(0, limit),
    rest: rest && { ...rest, groups: collected.restGroups + others.length },
    without: foundSeries(collected.without),
  }
}

function usageOfGroupRow(row: GroupedRow): GroupUsage {
  const { latest_accepted_at: acceptedAt, latest_id: id } = row
  return {
    ...aggregateFromRow({ ...row, source: '' }),
    count: BigInt(row.count),
    ...(acceptedAt !== undefined &&
      id !== undefined && { latestEvent: { acceptedAt: BigInt(acceptedAt), id } }),
  }
}

const foundSeries = ({ whole, periods }: Series): GroupSeries | undefined => whole && { whole, periods }
